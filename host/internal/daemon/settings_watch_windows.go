package daemon

import "github.com/rjeczalik/notify"

// written are the events of files that change. Windows reports a write in place that keeps the size only as a new time, which
// is not among all events of notify.
const written = notify.All | notify.FileNotifyChangeLastWrite
