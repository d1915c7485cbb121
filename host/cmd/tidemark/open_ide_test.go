package main

import (
	"errors"
	"slices"
	"testing"
)

func TestTheEditorIsTheConfiguredOneElseVisualElseOneThatIsFound(t *testing.T) {
	found := func(names ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(names, name) {
				return "/bin/" + name, nil
			}
			return "", errors.New("not found")
		}
	}
	for _, c := range []struct {
		configured []string
		visual     string
		found      []string
		want       []string
	}{
		{[]string{"zed", "--new"}, "vim", []string{"code"}, []string{"zed", "--new"}},
		{nil, " vim ", []string{"vim", "code"}, []string{"/bin/vim"}},
		{nil, "emacsclient -n", []string{"code"}, linedCommand("emacsclient -n")},
		{nil, "  ", []string{"idea", "code"}, []string{"/bin/code"}},
		{nil, "", []string{"subl"}, []string{"/bin/subl"}},
		{nil, "", nil, nil},
	} {
		got, _, err := editorOf(c.configured, c.visual, found(c.found...))
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
