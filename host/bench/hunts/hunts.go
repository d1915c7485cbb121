// Package hunts measures how an agent finds bugs with Tidemark and with other servers that show pages to agents.
//
// It guarantees: every tool is given the same applications with the same bugs, the same steps of a user, and a fixed
// sequence of its own calls; what counts as found is the same for all: an answer names the file and, within two lines,
// the line of the bug's cause or of the code that showed it, in the sources as they were written. Servers listen on
// loopback and end with the run.
package hunts

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Patch is an edit of a file: Old, which the file has once, becomes New.
type Patch struct{ File, Old, New string }

// Place is the line of a file that contains a text, once, after the patches.
type Place struct{ File, Text string }

// Bug is a bug in an application, and how a user comes to see it.
type Bug struct {
	App, Kind string
	// Detail tells apart the bugs of a kind in one application.
	Detail  string
	Patches []Patch
	// Cause is what is wrong. Shown is the code that shows it: that throws, or sends what fails.
	Cause, Shown []Place
	// Before brings the page to where the bug is. Trigger shows the bug. Without it, the page does so by itself once it is
	// open: the first answer is that of the last step where that names the cause, else that to a look at what happened.
	Before  []Step
	Trigger *Step
}

// Name names a bug among all.
func (b *Bug) Name() string {
	if b.Detail == "" {
		return b.App + ": " + b.Kind
	}
	return fmt.Sprintf("%s: %s (%s)", b.App, b.Kind, b.Detail)
}

// Step is what a user does.
type Step struct {
	// Open is a path to go to.
	Open string
	// Click is an element to click, by its role and name: button "Save".
	Click string
	// Fill are fields with their values. Submit is what to click then.
	Fill   []Field
	Submit string
	// Seek is a text that should be on the page.
	Seek string
	// Unless is an element of a page on which there is nothing to do.
	Unless string
	// Expect is what the page then has, as an agent must know it to go on; "" is anything.
	Expect string
}

// Field is a field, by its role and name, and its value.
type Field struct{ What, Value string }

// Blank is a page of each application on which nothing happens.
const Blank = "/blank.txt"

// line is a line of a file.
type line struct {
	file string
	line int
}

// slack is how many lines an answer may be off.
const slack = 2

// places are the lines that count as found, in the patched application in dir.
func (b *Bug) places(dir string) ([]line, error) {
	var lines []line
	for _, p := range append(append([]Place{}, b.Cause...), b.Shown...) {
		data, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			return nil, err
		}
		found := 0
		for i, text := range strings.Split(string(data), "\n") {
			if strings.Contains(text, p.Text) {
				found++
				lines = append(lines, line{p.File, i + 1})
			}
		}
		if found != 1 {
			return nil, fmt.Errorf("%s: %s has %q in %d lines", b.Name(), p.File, p.Text, found)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: nothing is named as its cause", b.Name())
	}
	return lines, nil
}

// apply puts the bug into the application in dir. The returned function takes it out.
func (b *Bug) apply(dir string) (restore func() error, err error) {
	before := map[string][]byte{}
	restore = func() (err error) {
		for file, data := range before {
			err = cmp.Or(err, os.WriteFile(filepath.Join(dir, file), data, 0o600))
		}
		return err
	}
	for _, p := range b.Patches {
		path := filepath.Join(dir, p.File)
		data, err := os.ReadFile(path)
		if err != nil {
			return restore, err
		}
		if n := strings.Count(string(data), p.Old); n != 1 {
			return restore, fmt.Errorf("%s: %s has %q %d times", b.Name(), p.File, p.Old, n)
		}
		if before[p.File] == nil {
			before[p.File] = data
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), p.Old, p.New, 1)), 0o600); err != nil {
			return restore, err
		}
	}
	return restore, nil
}
