package grants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer/safefile"
)

const (
	// format is the number of the file's format. A newer format is refused, because it may restrict what this version
	// would allow.
	format = 1
	// maxFile bounds the file in bytes.
	maxFile = 4 << 20
)

// entry is a decision about a directory.
type entry struct {
	path   string
	allow  bool
	grants []string
	since  map[string]time.Time // when grants were given; without an entry it is not known
	at     time.Time
}

// decision is the entry as the decision for a directory.
func (e entry) decision(dir string) Decision {
	state := Denied
	if e.allow {
		state = Allowed
	}
	return Decision{Dir: dir, State: state, For: e.path, At: e.at, grants: e.grants, since: e.since}
}

func byPath(e entry, path string) int { return strings.Compare(e.path, path) }

// fileJSON is the content of the file.
type fileJSON struct {
	Format   int         `json:"format"`
	Projects []entryJSON `json:"projects"`
}

// entryJSON is a decision in the file. Names of grants that this version does not know are kept. Any other key that it
// does not know makes the file damaged.
type entryJSON struct {
	Path
	Decision string    `json:"decision"` // allow or deny
	Grants   []string  `json:"grants,omitempty"`
	Decided  time.Time `json:"decided"`
	// Since is when grants were given.
	Since map[string]time.Time `json:"since,omitempty"`
}

// Path is a path in JSON. JSON has no form for a path that is not UTF-8. Such a path is in Base64 too.
type Path struct {
	Text   string `json:"path"`
	Base64 []byte `json:"path_base64,omitempty"`
}

// PathOf returns a path for JSON.
func PathOf(path string) Path {
	p := Path{Text: path}
	if !utf8.ValidString(path) {
		p.Text, p.Base64 = strings.ToValidUTF8(path, "\uFFFD"), []byte(path)
	}
	return p
}

// String returns the path.
func (p Path) String() string {
	if p.Base64 != nil {
		return string(p.Base64)
	}
	return p.Text
}

// read returns all decisions, sorted by path. Its error says what to do.
func (s *Store) read() ([]entry, error) {
	data, info, err := safefile.ReadInfo(s.File, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s.overlay(nil), nil
	}
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, usererr.New(usererr.NotAllowed, "cannot trust %s: other users can write to it. Nothing is allowed until you check its content and run `chmod 600` on it.", s.File)
	}
	var all []entry
	if err == nil {
		all, err = parse(data)
	}
	if newer := newerError(0); errors.As(err, &newer) {
		return nil, usererr.New(usererr.NotAllowed, "cannot read %s: it was written by a newer version of Tidemark (format %d, known %d). Nothing is allowed until you update Tidemark.", s.File, newer, format)
	}
	if err != nil {
		return nil, usererr.New(usererr.NotAllowed, "cannot read the decisions about projects in %s: %v. Nothing is allowed until you fix the file, or remove it and decide again.", s.File, err)
	}
	return s.overlay(all), nil
}

// newerError is the number of a format that this version does not know.
type newerError int

func (n newerError) Error() string { return fmt.Sprintf("format %d", int(n)) }

// parse reads the content of the file. It accepts only what this version writes.
func parse(data []byte) ([]entry, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	if err := safefile.CheckJSON(data); err != nil {
		return nil, err
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Format > format {
		return nil, newerError(head.Format)
	}
	if head.Format < 1 {
		return nil, errors.New("it has no format")
	}
	var f fileJSON
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows its end")
	}
	all := make([]entry, 0, len(f.Projects))
	for _, e := range f.Projects {
		path := e.String()
		switch {
		case !filepath.IsAbs(path) || filepath.Clean(path) != path:
			return nil, fmt.Errorf("%q is not an absolute path", path)
		case e.Decision != "allow" && e.Decision != "deny":
			return nil, fmt.Errorf("%q has the decision %q, which is neither allow nor deny", path, e.Decision)
		case e.Decision == "deny" && len(e.Grants) > 0:
			return nil, fmt.Errorf("%q is denied and has grants", path)
		}
		slices.Sort(e.Grants)
		all = append(all, entry{path, e.Decision == "allow", e.Grants, e.Since, e.Decided})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	for i := 1; i < len(all); i++ {
		if all[i].path == all[i-1].path {
			return nil, fmt.Errorf("%q has two decisions", all[i].path)
		}
	}
	return all, nil
}

// update changes the decisions. No other writer works meanwhile. If change fails, nothing is written.
func (s *Store) update(ctx context.Context, change func([]entry) ([]entry, error)) error {
	unlock, err := s.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.read()
	if err != nil {
		return err
	}
	if all, err = change(all); err != nil {
		return err
	}
	f := fileJSON{Format: format, Projects: make([]entryJSON, 0, len(all))}
	for _, e := range all {
		decision := "deny"
		if e.allow {
			decision = "allow"
		}
		f.Projects = append(f.Projects, entryJSON{PathOf(e.path), decision, e.grants, e.at, e.since})
	}
	var data bytes.Buffer
	out := json.NewEncoder(&data)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(f); err != nil {
		return err
	}
	if data.Len() > maxFile {
		return usererr.New(usererr.LimitReached, "cannot save the decision: %s would have more than %d MiB. Run `tidemark project forget DIR` for projects that you no longer need.", s.File, maxFile>>20)
	}
	err = safefile.Replace(s.File, data.Bytes())
	switch {
	case errors.Is(err, diskFull):
		return fmt.Errorf("cannot save the decision in %s: %w. Free some space on its disk, then run the command again.", s.File, err)
	case err != nil:
		return fmt.Errorf("cannot save the decision in %s: %w. Check the permissions of its directory.", s.File, err)
	}
	return nil
}
