//go:build !linux

package ownpath

import "os/exec"

// Prepare is [ErrUnsupported].
func Prepare(*exec.Cmd) error { return ErrUnsupported }

// Enter is [ErrUnsupported].
func Enter([]Bind, string, []string, []string) error { return ErrUnsupported }
