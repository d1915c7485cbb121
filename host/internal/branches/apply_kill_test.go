package branches_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/killtest"
)

// changed is how many files an apply changes.
const changed = 20

// stateOf returns the files of the workspace in a state: their contents name it, and so does a directory.
func stateOf(state string) map[string]string {
	files := map[string]string{"new\nline": "b\n", "kept": "kept", filepath.Join("in "+state, "two", "three"): state}
	for n := range changed {
		files[filepath.Join("sub", strconv.Itoa(n))] = state
	}
	return files
}

// become writes a state into a directory that has another one.
func become(dir, state string) error {
	for _, old := range glob(dir, "in *") {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	for name, text := range stateOf(state) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// is returns the state of a directory, and what of it is of another one.
func is(t *testing.T, dir string) (state string, wrong []string) {
	t.Helper()
	state = read(t, filepath.Join(dir, "sub", "0"))
	want, got := stateOf(state), map[string]string{}
	failing(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && d.Type().IsRegular() {
			got[rel] = read(t, path)
		} else if err == nil && strings.HasPrefix(rel, "in ") && !strings.HasPrefix(rel, "in "+state) {
			got[rel] = "a directory"
		}
		return err
	}))
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != want[name] {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", name, got[name], want[name]))
		}
	}
	if len(got) != len(want) {
		wrong = append(wrong, fmt.Sprintf("there are %d files, want %d", len(got), len(want)))
	}
	return state, wrong
}

// applying makes branches, changes them, merges them into the original, and undoes that, again and again.
func applying(v killtest.Process, top string) {
	s := prepare(top)
	s.open()
	ctx := context.Background()
	for {
		name := "b" + strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // another name each time
		v.Say("branch")
		b, err := s.Start(ctx, user, branches.Params{Where: s.where(), From: "now", Name: name})
		v.Must(err, become(b.Workspace, name))
		v.Say("apply")
		a, err := s.Apply(ctx, user, branches.ApplyParams{Where: s.where(), Name: name, Confirm: true})
		v.Must(err)
		if !a.Done || a.Operation == "" {
			v.Fatalf("nothing was applied: %+v", a)
		}
		v.Say("applied", name)
		if rand.IntN(2) == 0 { //nolint:gosec // some stay
			v.Say("undo", name)
			_, err := s.Timeline.Operations.Undo(ctx, user, operations.UndoParams{Where: s.where(), Operation: a.Operation, Confirm: true})
			v.Must(err)
			v.Say("undone", name)
		}
		v.Say("remove")
		_, err = s.Remove(ctx, user, branches.OneParams{Where: s.where(), Name: name, Force: true})
		v.Must(err)
	}
}

// Whenever the daemon is killed while a branch is applied, the original is wholly before or wholly after. The log of operations
// says which, and what was applied can be undone.
func TestAKilledApplyIsBeforeOrAfter(t *testing.T) {
	killtest.Victim(applying)
	s := prepare(t.TempDir())
	s.write()
	failing(errors.Join(os.RemoveAll(filepath.Join(s.dir, "sub")), os.WriteFile(filepath.Join(s.dir, "kept"), []byte("kept"), 0o600), become(s.dir, "start")))
	s.open()
	s.record()
	failing(s.close())
	applied := map[string]bool{} // that was said
	before, after := 0, 0
	hunt := killtest.Hunt{
		Dir: s.top, Steps: []string{"apply", "undo"}, Short: 3, Usual: 5,
		Said: func(step, name string) {
			switch step {
			case "applied":
				applied[name] = true
			case "undo":
				delete(applied, name)
			}
		},
		Survived: func(step string) {
			s.open()
			defer func() { failing(s.close()) }()
			ops, err := s.Timeline.Operations.Log(t.Context(), user, operations.LogParams{Where: s.where()})
			if err != nil {
				t.Fatal(err)
			}
			state, wrong := is(t, s.dir)
			if len(wrong) > 0 {
				t.Fatalf("after a kill in %s, of %s: %s", step, state, strings.Join(wrong, "; "))
			}
			i := slices.IndexFunc(ops.Operations, func(o operations.Entry) bool { return o.Kind == records.OpApply })
			if i < 0 {
				return
			}
			o := ops.Operations[i]
			name := strings.Fields(o.What)[2]
			switch {
			case o.State == records.Done && state != name, o.State != records.Done && state == name:
				t.Errorf("after a kill in %s, %s is %s, and the files are of %s", step, o.What, o.State, state)
			case o.State == records.Failed && applied[name]:
				t.Errorf("after a kill in %s, %s failed, and was done before", step, o.What)
			case o.State == records.Begun:
				t.Errorf("after a kill in %s, %s never ended", step, o.What)
			case o.State == records.Done:
				if after++; step == "apply" {
					if _, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: o.ID, Confirm: true}); err != nil {
						t.Error(err)
					}
					if undone, wrong := is(t, s.dir); undone == name || len(wrong) > 0 {
						t.Errorf("after the undo of %s, the files are of %s: %q", o.What, undone, wrong)
					}
				}
			default:
				before++
			}
			clear(applied)
		},
	}
	hunt.Run(t)
	t.Logf("%d times before, %d times after", before, after)
}
