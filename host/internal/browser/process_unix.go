//go:build !linux && !windows

package browser

import (
	"os/exec"
	"syscall"
	"time"
)

// isolate puts the browser into a process group of its own, so that an interrupt from the terminal
// reaches only this process, which then closes the browser in order. Should this process die without
// doing so, the pipe closes, and the browser ends by that.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// reap returns when every process of the browser's group has ended. It gives them a moment to end by
// themselves, because the native host still delivers what it has.
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
			_ = syscall.Kill(-group, syscall.SIGKILL) // ended meanwhile
		}
		time.Sleep(10 * time.Millisecond)
	}
}
