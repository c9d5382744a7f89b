//! The webhooks that the API server asks about `TrainJob`s and runtimes: their paths, and from a review to its answer.
//!
//! Paths are upstream's, so that its webhook configurations serve as they are. What is judged, and what has to be read for
//! it, is told by who calls [`answer`].

mod review;
#[cfg(test)]
mod tests;

pub(crate) use review::Review;

use jiff::Timestamp;
use review::{BadReview, Reply};
use trainmaster::admission::{self, Verdict};

/// One of the webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Webhook {
    /// Sets the times of the patches of a `TrainJob`.
    Times,
    /// Admits `TrainJob`s.
    TrainJob,
    /// Admits runtimes of a namespace.
    TrainingRuntime,
    /// Admits runtimes of the cluster.
    ClusterTrainingRuntime,
}

impl Webhook {
    /// All of them.
    const ALL: [Webhook; 4] =
        [Webhook::Times, Webhook::TrainJob, Webhook::TrainingRuntime, Webhook::ClusterTrainingRuntime];

    /// The one at `path`.
    pub(crate) fn at(path: &str) -> Option<Webhook> {
        Webhook::ALL.into_iter().find(|it| it.path() == path)
    }

    /// Its path.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Webhook::Times => "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
            Webhook::TrainJob => "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
            Webhook::TrainingRuntime => "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
            Webhook::ClusterTrainingRuntime => {
                "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime"
            }
        }
    }

    /// The kind that it is about.
    fn kind(self) -> &'static str {
        match self {
            Webhook::Times | Webhook::TrainJob => "TrainJob",
            Webhook::TrainingRuntime => "TrainingRuntime",
            Webhook::ClusterTrainingRuntime => "ClusterTrainingRuntime",
        }
    }
}

/// The answer to a review, as JSON. `judge` says what is to be said of the object, or why that cannot be told now.
///
/// Fails where there is no review in `body`, or one of another kind.
pub(crate) async fn answer<F>(
    webhook: Webhook,
    body: &[u8],
    judge: impl FnOnce(Review) -> F,
) -> Result<Vec<u8>, BadReview>
where
    F: Future<Output = Result<Verdict, String>>,
{
    let review = Review::read(body, webhook.kind())?;
    let uid = review.uid.clone();
    let reply = match webhook {
        // Nothing keeps an object from going.
        _ if !review.is_about_content => Reply::Verdict(Verdict::default()),
        Webhook::Times => {
            Reply::Patch(admission::times(&review.object, review.old.as_ref(), Timestamp::now()))
        }
        _ => match judge(review).await {
            Ok(verdict) => Reply::Verdict(verdict),
            Err(why) => Reply::Unknown(why),
        },
    };
    Ok(reply.write(&uid))
}
