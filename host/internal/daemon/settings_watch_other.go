//go:build !windows

package daemon

import "github.com/rjeczalik/notify"

// written are the events of files that change.
const written = notify.All
