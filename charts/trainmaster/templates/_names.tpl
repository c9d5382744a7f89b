{{- /* Names and labels. They are those of upstream's chart, whatever this one is called: a release of that is upgraded to
this, its Deployment's selector cannot change, and the webhook configurations are found by their names. */ -}}

{{- define "trainmaster.name" -}}
{{- .Values.nameOverride | default "kubeflow-trainer" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "trainmaster.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "trainmaster.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "trainmaster.manager" -}}
{{ include "trainmaster.fullname" . }}-controller-manager
{{- end -}}

{{- define "trainmaster.service" -}}
{{ .Values.manager.config.certManagement.webhookServiceName | default (include "trainmaster.manager" .) }}
{{- end -}}

{{- define "trainmaster.secret" -}}
{{ .Values.manager.config.certManagement.webhookSecretName | default (printf "%s-webhook-cert" (include "trainmaster.name" .)) }}
{{- end -}}

{{- define "trainmaster.leaseNamespace" -}}
{{ .Values.manager.config.leaderElection.resourceNamespace | default .Release.Namespace }}
{{- end -}}

{{- define "trainmaster.policies" -}}
{{- if .Values.policies.existingConfigMap -}}
{{ .Values.policies.existingConfigMap }}
{{- else if .Values.policies.files -}}
{{ include "trainmaster.fullname" . }}-policies
{{- end -}}
{{- end -}}

{{- define "trainmaster.image" -}}
{{ list .Values.image.registry .Values.image.repository | compact | join "/" }}:{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end -}}

{{- /* The version of Kubeflow Trainer whose API and runtimes these are. */ -}}
{{- define "trainmaster.upstream" -}}
{{ index .Chart.Annotations "trainmaster.dev/kubeflow-trainer" }}
{{- end -}}

{{- /* Whether the controller sees to the certificate itself. */ -}}
{{- define "trainmaster.ownCertificate" -}}
{{- if and .Values.manager.config.certManagement.enable (not .Values.certManager.enabled) -}}true{{- end -}}
{{- end -}}

{{- define "trainmaster.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "trainmaster.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: kubeflow
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "trainmaster.managerLabels" -}}
{{ include "trainmaster.labels" . }}
app.kubernetes.io/component: manager
{{- with .Values.manager.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "trainmaster.selector" -}}
app.kubernetes.io/name: {{ include "trainmaster.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: kubeflow
app.kubernetes.io/component: manager
{{- with .Values.manager.selectorLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The port of an address such as `:8081`. */ -}}
{{- define "trainmaster.port" -}}
{{ splitList ":" . | last }}
{{- end -}}
