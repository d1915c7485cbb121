package browser

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// isolate puts the browser into its own process group, so that an interrupt from the terminal reaches only
// this process, which then closes the browser in order. If this process dies first, the kernel kills the
// browser.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap returns when every process of the browser has exited: those in its group, and those with its profile in
// their command line (some leave the group). It waits before killing them, because the native host still
// delivers its data.
func reap(group int, dir string) {
	deadline := time.Now().Add(killTimeout)
	giveUp := deadline.Add(killTimeout)
	for {
		left := survivors(group, dir)
		now := time.Now()
		if len(left) == 0 || now.After(giveUp) {
			return
		}
		if now.After(deadline) {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has just exited
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// survivors lists the browser's running processes. Zombies do not count.
func survivors(group int, dir string) []int {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	var left []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || pid == self {
			continue
		}
		state, pgrp, ok := readStat(entry + "/stat")
		if !ok || state == 'Z' || state == 'X' {
			continue
		}
		if group != noGroup && pgrp == group || usesProfile(entry+"/cmdline", dir) {
			left = append(left, pid)
		}
	}
	return left
}

// readStat reads a process's state and group. The name, in parentheses, may contain any character.
//
// Source: proc_pid_stat(5).
func readStat(path string) (state byte, pgrp int, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, false
	}
	var ppid int
	rest := data[bytes.LastIndexByte(data, ')')+1:]
	_, err = fmt.Sscanf(string(rest), " %c %d %d", &state, &ppid, &pgrp)
	return state, pgrp, err == nil
}

// usesProfile reports whether a command line has a switch whose value is the profile or a path in it.
func usesProfile(path, dir string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for arg := range bytes.SplitSeq(data, []byte{0}) {
		if !bytes.HasPrefix(arg, []byte("--")) {
			continue
		}
		_, value, _ := bytes.Cut(arg, []byte{'='})
		if rest, ok := bytes.CutPrefix(value, []byte(dir)); ok && (len(rest) == 0 || rest[0] == '/') {
			return true
		}
	}
	return false
}
