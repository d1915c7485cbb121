package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// measured runs a bench in a directory, and returns what it measured. It prints no tables.
func measured(bench, in string, args ...string) (_ *results, err error) {
	dir, err := os.MkdirTemp("", "tmb")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "figures.json")
	cmd := exec.Command(bench, append(args, "-json", file)...)
	cmd.Dir, cmd.Stderr = in, os.Stderr
	bad := cmd.Run()
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Join(bad, err)
	}
	var figures results
	return &figures, errors.Join(bad, json.Unmarshal(data, &figures))
}

// sideBySide has the last of the parts without times measured by a process of its own, beside the others of them.
func sideBySide(list []part) {
	var untimed []*part
	for i := range list {
		if list[i].untimed {
			untimed = append(untimed, &list[i])
		}
	}
	self, err := os.Executable()
	if err != nil || len(untimed) < 2 {
		return
	}
	first, last := untimed[0], untimed[len(untimed)-1]
	var figures *results
	done := make(chan error, 1)
	alone := first.run
	first.run = func(r *run) error {
		args := []string{"-only", last.name, "-binary", r.binary}
		if r.quick {
			args = append(args, "-quick")
		}
		go func() {
			var bad error
			figures, bad = measured(self, "", args...)
			done <- bad
		}()
		return alone(r)
	}
	last.run = func(r *run) error {
		err := <-done
		if figures == nil {
			return err
		}
		for _, t := range figures.Tables {
			err = errors.Join(err, (&sheet{r, t}).print())
		}
		r.results.Missed += figures.Missed
		return err
	}
}
