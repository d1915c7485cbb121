//go:build !linux && !windows

package browser

import (
	"os/exec"
	"syscall"
	"time"
)

// isolate puts the browser into its own process group, so that an interrupt from the terminal reaches only
// this process, which then closes the browser in order. If this process dies first, the closed pipe ends the
// browser.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// reap returns when every process of the browser's group has exited. It waits before killing them, because the
// native host still delivers its data.
func reap(group int, _ string) {
	if group == noGroup {
		return
	}
	deadline := time.Now().Add(killTimeout)
	giveUp := deadline.Add(killTimeout)
	for syscall.Kill(-group, 0) == nil {
		now := time.Now()
		if now.After(giveUp) {
			return
		}
		if now.After(deadline) {
			_ = syscall.Kill(-group, syscall.SIGKILL) // fails if it has just exited
		}
		time.Sleep(10 * time.Millisecond)
	}
}
