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
	env  []string // more of it
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
	p := &person{t: t, home: home}
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

// command is one of Tidemark, run by the person.
func (p *person) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e2etest.Binary(), args...)
	cmd.Dir, cmd.Env = p.home, append([]string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}, p.env...)
	return cmd
}

// run runs Tidemark and returns what it printed and its exit code.
func (p *person) run(args ...string) (out string, code int) {
	p.t.Helper()
	cmd := p.command(args...)
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

// diagnosis is what doctor finds.
type diagnosis struct {
	OK     bool
	Checks []installer.Check
}

func (p *person) diagnose() (d diagnosis) {
	p.t.Helper()
	out, _ := p.run("doctor", "--json")
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&d); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	return d
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
	d := p.diagnose()
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
	d = p.diagnose()
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

// TestDoctorPassesWhereOnlyBrowsersOfTidemarkAreUsed: nothing is installed, in Chrome or for an agent, and a browser that
// Tidemark opened is watched. What could be set up is advice.
func TestDoctorPassesWhereOnlyBrowsersOfTidemarkAreUsed(t *testing.T) {
	e2etest.NeedBrowser(t)
	found, err := installer.FindBrowser()
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t)
	p.env = []string{installer.BrowserEnv + "=" + found.Path}
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	own := p.command("browser", "--headless", s.URL)
	own.Stderr = os.Stderr
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = own.Process.Signal(os.Interrupt)
		_ = own.Wait()
		p.must("stop")
	})
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		out, _ := p.run("status", "--json")
		return strings.Contains(out, s.URL), nil
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]installer.State{
		"browser": installer.OK, "relay": installer.OK, "sockets": installer.OK, "test event": installer.OK, "extension connected": installer.OK, "round": installer.OK,
		"manifest": installer.None, "extension unpacked": installer.None, "agent": installer.None,
	}
	check := func() {
		t.Helper()
		d := p.diagnose()
		states := map[string]installer.State{}
		for _, c := range d.Checks {
			states[c.Link] = c.State
			if c.State == installer.None && c.Fix == "" {
				t.Errorf("no advice: %+v", c)
			}
		}
		if !d.OK || !maps.Equal(states, want) {
			t.Errorf("%+v, want %v", d.Checks, want)
		}
		text := p.must("doctor")
		t.Logf("\n%s", text)
		e2etest.Holds(t, text, "All checks passed", "run `tidemark install` to unpack it")
	}
	check()
	// Neither a browser's program nor its profile is where doctor looks for one that could have the extension.
	if err := os.RemoveAll(filepath.Join(p.home, ".config/chromium")); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "PATH="+p.home)
	delete(want, "manifest")
	check()
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
