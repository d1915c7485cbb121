package ownpath

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Prepare makes that a command starts with mounts of its own, and ends with the thread that starts it. It is to call [Enter].
// Where the user may not mount, it also has a namespace of users, in which the user has the same number, and the right to mount
// until Enter.
func Prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGTERM}
	if !mayMount() {
		uid, gid := os.Geteuid(), os.Getegid()
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return nil
}

// mayMount reports whether a program of this user may mount. In many containers root may not.
func mayMount() bool {
	var data [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	return os.Geteuid() == 0 && err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// Enter shows directories at other paths, and becomes a program that works in one of these paths. Without a program it returns nil
// once they are shown. Else it returns only after an error.
func Enter(binds []Bind, in string, line, env []string) error {
	// What others mount and unmount later is seen, and nobody else sees what is mounted here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return &fs.PathError{Op: "make mounts private", Path: "/", Err: err}
	}
	for _, b := range binds {
		if Covers(b.Dir, b.At) {
			return fmt.Errorf("cannot show %s at %s: one is in the other", b.Dir, b.At)
		}
		if err := unix.Mount(b.Dir, b.At, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("cannot show %s at %s: %w", b.Dir, b.At, err)
		}
	}
	if err := os.Chdir(in); err != nil {
		return err
	}
	if len(line) == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	program, err := exec.LookPath(line[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return err
	}
	shown, err := json.Marshal(binds)
	if err != nil {
		return err
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, "PWD=") || strings.HasPrefix(v, Env+"=")
	})
	return &fs.PathError{Op: "run", Path: program, Err: unix.Exec(program, line, append(env, "PWD="+in, Env+"="+string(shown)))}
}
