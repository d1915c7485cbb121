package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/installer/safefile"
)

// rules are what snapshots of a workspace leave out. They are recorded with each snapshot, as JSON.
type rules struct {
	Exclude project.Exclude `json:"exclude"`
	// Denied are directories with another decision.
	Denied []grants.Path `json:"denied,omitempty"`
}

func rulesOf(exclude project.Exclude, denied []string) rules {
	r := rules{Exclude: exclude}
	for _, dir := range denied {
		r.Denied = append(r.Denied, grants.PathOf(dir))
	}
	return r
}

// skip returns a function that reports whether a path is left out.
func (r rules) skip() func(path string) bool {
	var denied []string
	for _, dir := range r.Denied {
		denied = append(denied, dir.String())
	}
	return func(path string) bool { return r.Exclude.Skip(path) || grants.Covers(denied, path) }
}

// excludeFile is the file of a store that has what was excluded when the workspace was opened last.
const excludeFile = "exclude.json"

// noteExclude writes what is excluded, for the time when the settings file cannot be read.
func noteExclude(store string, e project.Exclude) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return safefile.Overwrite(filepath.Join(store, excludeFile), data)
}

// lastExclude reads what [noteExclude] wrote.
func lastExclude(store string) (e project.Exclude, err error) {
	data, err := safefile.Read(filepath.Join(store, excludeFile), noise.MaxProjectFile)
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(data, &e)
}

func (r rules) text() (string, error) {
	data, err := json.Marshal(r)
	return string(data), err
}

// skipBy is [rules.skip] of recorded rules, nil if they leave out nothing. Rules that cannot be read leave out everything, so
// that nothing is taken for deleted.
func skipBy(text string) func(path string) bool {
	var r rules
	if text == "" { // it was recorded by an earlier version
		return nil
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return func(string) bool { return true }
	}
	if len(r.Denied) == 0 && r.Exclude.Empty() {
		return nil
	}
	return r.skip()
}

// PrepareRestore takes a snapshot and plans what would set paths back to an earlier one; no paths mean everything.
func (w *Workspace) PrepareRestore(ctx context.Context, number uint64, paths []string) (*restore.Plan, error) {
	return prepare(ctx, w, restore.Prepare, number, paths)
}

// PrepareUndo is PrepareRestore for what changed the paths and nothing else: see [restore.PrepareUndo].
func PrepareUndo(ctx context.Context, w *Workspace, number uint64, paths []string) (*restore.Plan, error) {
	return prepare(ctx, w, restore.PrepareUndo, number, paths)
}

func prepare(ctx context.Context, w *Workspace, plan func(context.Context, *tracked.Provider, uint64, []string) (*restore.Plan, error), number uint64, paths []string) (*restore.Plan, error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	p, err := plan(ctx, w.provider, number, paths)
	w.record(ctx, "")
	return p, err
}

// Restore does what a plan says.
func (w *Workspace) Restore(ctx context.Context, plan *restore.Plan) (*restore.Result, error) {
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	result, err := plan.Apply(ctx)
	w.record(ctx, "restore")
	return result, err
}

// Exclusions are how a restore changes what later snapshots leave out, by the patterns of the settings file.
type Exclusions struct {
	// Dropped no longer apply, Added are new.
	Dropped []string `json:"dropped"`
	Added   []string `json:"added"`
	// Problem says why no snapshot can be taken with the restored settings file, "" in the usual case.
	Problem string `json:"problem,omitempty"`
}

// Exclusions returns how a restore changes the exclusions, nil if it does not.
func (w *Workspace) Exclusions(plan *restore.Plan) (*Exclusions, error) {
	i := slices.IndexFunc(plan.Steps, func(s restore.Step) bool { return s.Path == project.FileName })
	if i < 0 {
		return nil, nil
	}
	end, err := w.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	then, err := w.excludedBy(plan.Steps[i].After)
	if err != nil {
		return &Exclusions{Dropped: []string{}, Added: []string{}, Problem: err.Error()}, nil
	}
	e := &Exclusions{Dropped: w.rules.Exclude.Without(then), Added: then.Without(w.rules.Exclude)}
	if len(e.Dropped) == 0 && len(e.Added) == 0 {
		return nil, nil
	}
	return e, nil
}

// excludedBy returns what a recorded settings file excludes; nil is that there is none.
func (w *Workspace) excludedBy(file *tree.Entry) (e project.Exclude, err error) {
	switch {
	case file == nil:
		return project.ExcludeAbove(w.Dir)
	case file.Kind != tree.File || file.Size > noise.MaxProjectFile:
		return e, fmt.Errorf("%s is not a settings file then", project.FileName)
	}
	var data bytes.Buffer
	if err := w.provider.Content(&data, file); err != nil {
		return e, err
	}
	s, err := project.Parse(filepath.Join(w.Dir, project.FileName), data.Bytes())
	return s.Exclude, err
}

// leftOut adds to what is left out of a workspace the directory in which ZFS shows its snapshots. A dataset may list it.
func leftOut(dir string, skip func(path string) bool) func(path string) bool {
	if d, ok := dataset.Of(dir); !ok || d.At != dir {
		return skip
	}
	return func(path string) bool { return path == ".zfs" || skip(path) }
}
