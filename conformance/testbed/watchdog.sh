# Leads the process group of one control plane and ends it: when its standard input closes, which it does however the
# process that started it ended, by SIGKILL too; or at SIGTERM. $1 is the folder to remove with it.

# Ctrl-C in a terminal is for the process that started us: what it leaves, we end.
trap '' INT HUP
trap 'end "$1"' TERM

end() {
    trap '' TERM
    # A program still writing may put a file back while the folder is being removed, so more than once.
    tries=50
    until rm -rf "$1" 2>/dev/null || [ "$tries" -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.1
    done
    kill -KILL 0
}

word=
read -r word
if [ "$word" = detach ]; then
    while :; do
        sleep 3600 &
        wait $!
    done
fi
end "$1"
