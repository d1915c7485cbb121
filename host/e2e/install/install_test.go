//go:build linux

package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// person is somebody with a home directory of their own and nothing of Tidemark in it.
type person struct {
	t    *testing.T
	home string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	home, err := os.MkdirTemp("", "tmp") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	p := &person{t, home}
	p.write(".cursor/mcp.json", "{\n\t\"mcpServers\": {\n\t\t\"files\": { \"command\": \"npx\" }, // keep\n\t},\n}\n")
	p.write(".codex/config.toml", "model = \"x\" # best\n")
	p.write(".gemini/.keep", "")
	p.write(".config/chromium/Local State", "{}")
	p.write(".local/state/other/file", "of another program")
	return p
}

func (p *person) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run runs Tidemark and returns what it printed and its exit code.
func (p *person) run(args ...string) (out string, code int) {
	p.t.Helper()
	cmd := exec.Command(e2etest.Binary(), args...)
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		p.t.Fatal(err)
	}
	return all.String(), cmd.ProcessState.ExitCode()
}

// must runs Tidemark where it has to succeed.
func (p *person) must(args ...string) string {
	p.t.Helper()
	out, code := p.run(args...)
	if code != 0 {
		p.t.Fatalf("tidemark %s: %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// files are the home's files and directories, without what the browser itself keeps in its profile.
func (p *person) files() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	profile := filepath.Join(p.home, ".config/chromium")
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case filepath.Dir(path) == profile && d.Name() != "NativeMessagingHosts":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			all[path] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// TestANewUserInstallsLoadsAsksAndUninstalls: in a browser that finds the host by what install wrote and has
// the extension from where install put it, every link holds, the first diff is told, and nothing is left.
func TestANewUserInstallsLoadsAsksAndUninstalls(t *testing.T) {
	e2etest.NeedBrowser(t)
	found, err := installer.FindBrowser()
	if err != nil || installer.KindOf(found.Path) != installer.Chromium {
		t.Skip("the manifest that it would look for is another")
	}
	p := newPerson(t)
	before := p.files()

	p.must("install", "--dry-run")
	if now := p.files(); !maps.Equal(before, now) {
		t.Errorf("a dry run wrote %v", now)
	}
	out := p.must("install", "--yes")
	t.Logf("\n%s", out)
	_, dir, _ := strings.Cut(out, "Load unpacked")
	_, dir, _ = strings.Cut(dir, "\n")
	dir, _, _ = strings.Cut(strings.TrimSpace(dir), "\n")

	// Without a browser, doctor misses it and nothing else.
	type diagnosis struct {
		OK     bool
		Checks []installer.Check
	}
	var d diagnosis
	diagnose := func() {
		t.Helper()
		d = diagnosis{}
		out, _ := p.run("doctor", "--json")
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&d); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	diagnose()
	for _, c := range d.Checks {
		if (c.State == installer.Broken) != (c.Link == "extension connected") {
			t.Errorf("without a browser: %+v", c)
		}
	}

	b, err := browser.Launch(t.Context(), browser.Options{
		Path: found.Path, Headless: true, UserDataDir: filepath.Join(p.home, ".config/chromium"), ExtensionDir: dir,
		Env: []string{"HOME=" + p.home, "TIDEMARK_HOME=", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=" + filepath.Join(p.home, ".config/chromium/cache")}, Notes: io.Discard,
		Ready: func(ctx context.Context, _ string) error {
			return testbed.Eventually(ctx, func() (bool, error) {
				out, _ := p.run("status", "--json")
				return strings.Contains(out, `"connected":true`), nil
			})
		},
	})
	if err != nil {
		out, _ := p.run("doctor")
		t.Fatalf("%v\n%s", err, out)
	}
	defer func() { _ = b.Close() }()

	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	ctx, cancel := chromedp.NewContext(b.Context(), chromedp.WithNewWindow(false))
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(s.URL)); err != nil {
		t.Fatal(err)
	}
	diagnose()
	var links []string
	for _, c := range d.Checks {
		if c.State != installer.OK || c.Fix != "" {
			t.Errorf("%+v", c)
		}
		if !slices.Contains(links, c.Link) {
			links = append(links, c.Link)
		}
	}
	if want := []string{"browser", "manifest", "extension unpacked", "relay", "sockets", "test event", "extension connected", "round", "agent", "hooks", "mcp"}; !d.OK || !slices.Equal(links, want) {
		t.Errorf("%v, want %v", links, want)
	}
	t.Logf("\n%s", p.must("doctor"))

	page := &e2etest.Tab{T: t, Tab: &testbed.Tab{Ctx: ctx}}
	p.must("changes")
	page.JS(`console.error('the first thing that breaks')`)
	if out := p.must("changes", "--wait", "settled"); !strings.Contains(out, "the first thing that breaks") {
		t.Errorf("%s", out)
	}
	// The test event has left no trace in what is told.
	if out := p.must("logs", "--json"); strings.Contains(out, "tidemark doctor") {
		t.Errorf("%s", out)
	}

	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", p.must("uninstall", "--yes", "--purge"))
	now := p.files()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[path]; !ok {
			t.Errorf("%s was left behind", path)
		}
	}
	for path, was := range before {
		if now[path] != was {
			t.Errorf("%s was %q and is %q", path, was, now[path])
		}
	}
	if left := e2etest.Running(t, "HOME="+p.home); len(left) > 0 {
		t.Errorf("%d processes were left behind", len(left))
	}
}

// TestDoctorNamesAnExtensionOfAnotherVersion: a browser goes on with the old one until it is reloaded.
func TestDoctorNamesAnExtensionOfAnotherVersion(t *testing.T) {
	w, err := testbed.New(e2etest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	s := w.NewStream("profile", "session", "stream")
	if err := s.Connect(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := w.Run("doctor", "--json")
	for _, want := range []string{
		`"link":"extension connected","subject":"connected","state":"broken","detail":"Test 1 has version 1, this program has `,
		`"link":"round","subject":"Test 1","state":"ok"`,
	} {
		if r.Code != 1 || !strings.Contains(r.Out, want) {
			t.Errorf("%d: %s\nwant %s", r.Code, r.Out, want)
		}
	}
}
