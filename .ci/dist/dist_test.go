package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/sassoftware/go-rpmutils"
)

// The tests look at one release, which TestMain builds from the repository: that of one Linux, or, with
// TIDEMARK_DIST, of the targets that it names, or of all.
var (
	root, out, version string
	targets            = "linux/" + runtime.GOARCH
)

const repository = "https://github.com/example/tidemark"

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if named := os.Getenv("TIDEMARK_DIST"); named == "all" {
		targets = allTargets
	} else if named != "" {
		targets = named
	}
	scratch, err := os.MkdirTemp("", "tidemark-dist-test-")
	if err == nil {
		defer func() { _ = os.RemoveAll(scratch) }()
		root, err = filepath.Abs("../..")
	}
	if err == nil {
		out = filepath.Join(scratch, "dist")
		err = run(root, out, targets, repository, io.Discard)
	}
	var pkg struct{ Version string }
	if err == nil {
		err = readJSON(filepath.Join(root, "package.json"), &pkg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	version = pkg.Version
	return m.Run()
}

func TestAnotherPlaceTimeZoneAndUmaskGiveTheSameBytes(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "a longer name, with spaces")
	for name := range strings.SplitSeq(do(t, "git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if name == "" || os.IsNotExist(err) { // removed, and not yet committed
			continue
		}
		check(t, err)
		check(t, os.MkdirAll(filepath.Join(elsewhere, filepath.Dir(name)), 0o700))
		check(t, os.WriteFile(filepath.Join(elsewhere, name), data, 0o600))
	}
	check(t, os.Symlink(filepath.Join(root, "node_modules"), filepath.Join(elsewhere, "node_modules")))
	program := filepath.Join(t.TempDir(), "dist")
	do(t, "go", "build", "-o", program, ".")
	epoch, err := releaseTime(root)
	check(t, err)

	again := filepath.Join(elsewhere, "dist")
	cmd := exec.Command("sh", "-c", `umask 077; exec "$@"`, "sh", program, "-root", elsewhere, "-out", again, "-targets", targets, "-repository", repository)
	cmd.Env = append(os.Environ(), "TZ=Asia/Kathmandu", "LC_ALL=C", "GOAMD64=v3", "GOFLAGS=-ldflags=-X=main.version=other",
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", epoch.Unix()))
	if targets == allTargets { // every package compiled anew
		cache := t.TempDir()
		cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	}
	if _, err := output(cmd); err != nil {
		t.Fatal(err)
	}
	one, other := read(t, out, "SHA256SUMS"), read(t, again, "SHA256SUMS")
	if !bytes.Equal(one, other) {
		t.Errorf("here:\n%s\nelsewhere:\n%s", one, other)
	}
}

func TestEveryFileThatNamesTheVersionNamesThatOfPackageJSON(t *testing.T) {
	for name, pattern := range map[string]string{
		"host/cmd/tidemark/main.go": `(?m)^var version = "(.*)"$`,
		"extension/manifest.json":   `(?m)^  "version": "(.*)",$`,
		"package-lock.json":         `(?m)^  "version": "(.*)",$`,
	} {
		found := regexp.MustCompile(pattern).FindSubmatch(read(t, root, name))
		if found == nil || string(found[1]) != version {
			t.Errorf("%s: found %q, package.json says %s", name, found, version)
		}
	}
}

func TestSHA256SUMSNamesEveryFile(t *testing.T) {
	entries, err := os.ReadDir(out)
	check(t, err)
	var want strings.Builder
	for _, entry := range entries {
		if entry.Name() != "SHA256SUMS" {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(read(t, out, entry.Name())), entry.Name())
		}
	}
	if got := string(read(t, out, "SHA256SUMS")); got != want.String() {
		t.Errorf("SHA256SUMS:\n%s\nfiles:\n%s", got, &want)
	}
}

func TestArchivesHoldProgramAndPapersOfRoot(t *testing.T) {
	for name := range strings.SplitSeq(targets, ",") {
		goos, arch, _ := strings.Cut(name, "/")
		folder := fmt.Sprintf("tidemark_%s_%s_%s", version, goos, arch)
		modes := make(map[string]fs.FileMode)
		program := folder + "/tidemark"
		if goos == "windows" {
			program += ".exe"
			for _, f := range unzip(t, folder+".zip") {
				modes[f.name] = f.mode
			}
		} else {
			for _, f := range untar(t, gunzip(t, read(t, out, folder+".tar.gz"))) {
				modes[f.name] = f.mode
			}
		}
		want := map[string]fs.FileMode{program: 0o755}
		for _, paper := range []string{"CHANGELOG.md", "LICENSE", "README.md", "THIRD_PARTY_NOTICES"} {
			want[folder+"/"+paper] = 0o644
		}
		if fmt.Sprint(modes) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", name, modes, want)
		}
	}
}

func TestNoticesNameEveryModuleInTheProgram(t *testing.T) {
	files := linuxArchive(t)
	info, err := buildinfo.Read(bytes.NewReader(files["tidemark"]))
	check(t, err)
	if len(info.Deps) == 0 {
		t.Error("the program names no modules")
	}
	notices := string(files["THIRD_PARTY_NOTICES"])
	for _, dep := range info.Deps {
		if !strings.Contains(notices, "\n"+dep.Path+" "+dep.Version+"\n") {
			t.Errorf("%s %s is linked, and its terms are not in THIRD_PARTY_NOTICES", dep.Path, dep.Version)
		}
	}
	for _, other := range []string{"\nGo ", "\npreact ", "\n@preact/signals "} {
		if !strings.Contains(notices, other) {
			t.Errorf("THIRD_PARTY_NOTICES does not name %q", strings.TrimSpace(other))
		}
	}
}

// mapFile is how a script names a source map beside it.
var mapFile = regexp.MustCompile(`(?m)^//# sourceMappingURL=\S+\.map`)

func TestTheStoreTakesTheExtension(t *testing.T) {
	files := make(map[string][]byte)
	for _, f := range unzip(t, "tidemark-extension_"+version+".zip") {
		files[f.name] = f.data
		if strings.HasPrefix(filepath.Base(f.name), ".") || mapFile.Match(f.data) {
			t.Errorf("%s is for developers", f.name)
		}
	}
	var m struct {
		Key, Version, Description string
		Icons                     map[string]string
		Background                struct {
			Worker string `json:"service_worker"`
		}
	}
	check(t, json.Unmarshal(files["manifest.json"], &m))
	if m.Key != "" || m.Version != version || len(m.Description) > 132 || m.Description == "" {
		t.Errorf("manifest.json: %+v", m)
	}
	for _, name := range []string{m.Icons["128"], m.Background.Worker, "popup/index.html", "licenses/pages.json"} {
		if len(files[name]) == 0 {
			t.Errorf("%q is missing", name)
		}
	}
}

func TestServerJSONIsWhatTheRegistryTakes(t *testing.T) {
	data := read(t, out, "server.json")
	var value any
	check(t, json.Unmarshal(data, &value))
	// The registry's module has the schema that its server validates with.
	dir := strings.TrimSpace(do(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry"))
	var schema jsonschema.Schema
	check(t, json.Unmarshal(read(t, dir, "internal/validators/schemas/2025-12-11.json"), &schema))
	resolved, err := schema.Resolve(nil)
	check(t, err)
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%v in\n%s", err, data)
	}

	var entry struct {
		Schema                     string `json:"$schema"`
		Name, Description, Version string
		Packages                   []struct{ RegistryType, Identifier, Version, FileSha256, RegistryBaseURL string }
	}
	check(t, json.Unmarshal(data, &entry))
	if entry.Schema != "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" ||
		entry.Name != "dev.tidemark/tidemark" || len(entry.Description) > 100 || entry.Version != version || len(entry.Packages) != 1 {
		t.Fatalf("%s", data)
	}
	p, bundle := entry.Packages[0], "tidemark_"+version+".mcpb"
	if p.RegistryType != "mcpb" || p.RegistryBaseURL != "" || p.Version != version ||
		p.Identifier != repository+"/releases/download/v"+version+"/"+bundle ||
		p.FileSha256 != fmt.Sprintf("%x", sha256.Sum256(read(t, out, bundle))) {
		t.Errorf("package: %+v", p)
	}
}

func TestOnlyPlacesThatTheRegistryTakesAreNamed(t *testing.T) {
	for repository, want := range map[string]string{
		"https://github.com/a/b":       "https://github.com/a/b/releases/download/v1/x.mcpb",
		"https://gitlab.com/a/group/b": "https://gitlab.com/a/group/b/-/releases/v1/downloads/x.mcpb",
		"http://github.com/a/b":        "",
		"https://github.com/a":         "",
		"https://example.com/a/b":      "",
		"git@github.com:a/b":           "",
	} {
		if got, _, err := download(repository, "v1", "x.mcpb"); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", repository, got, err)
		}
	}
}

func TestTheBundleIsValidAndServesOverMCP(t *testing.T) {
	dir := t.TempDir()
	mcpb := filepath.Join(root, "node_modules", ".bin", "mcpb")
	do(t, mcpb, "unpack", filepath.Join(out, "tidemark_"+version+".mcpb"), dir)
	do(t, mcpb, "validate", filepath.Join(dir, "manifest.json"))

	var m manifest
	check(t, readJSON(filepath.Join(dir, "manifest.json"), &m))
	if m.ManifestVersion != "0.3" || m.Version != version || m.Server.Type != "binary" {
		t.Errorf("manifest: %+v", m)
	}
	if targets == allTargets && !slices.Equal(m.Compatibility.Platforms, []string{"darwin", "linux", "win32"}) {
		t.Errorf("platforms: %v", m.Compatibility.Platforms)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the bundle has no program for this system, unless all are built")
	}
	home := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(strings.ReplaceAll(m.Server.MCPConfig.Command, "${__dirname}", dir), args...)
		cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+home)
		return cmd
	}
	cmd := command(m.Server.MCPConfig.Args...)
	in, err := cmd.StdinPipe()
	check(t, err)
	answers, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	defer func() {
		if _, err := output(command("stop")); err != nil {
			t.Error(err)
		}
	}()
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n")
	check(t, err)
	line, err := bufio.NewReader(answers).ReadBytes('\n')
	check(t, err)
	var answer struct {
		Result struct {
			ServerInfo struct{ Name, Version string }
		}
	}
	check(t, json.Unmarshal(line, &answer))
	if info := answer.Result.ServerInfo; info.Name != "tidemark" || info.Version != version {
		t.Errorf("%s", line)
	}
	check(t, in.Close())
	check(t, cmd.Wait())
}

func TestTheDebInstallsAndRemovesWithoutRunningAnything(t *testing.T) {
	for _, program := range []string{"dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("this machine has no " + program)
		}
	}
	arch := runtime.GOARCH
	deb := filepath.Join(out, fmt.Sprintf("tidemark_%s-1_%s.deb", version, arch))
	for _, f := range untar(t, []byte(do(t, "dpkg-deb", "--ctrl-tarfile", deb))) {
		if name := filepath.Base(f.name); f.mode.IsRegular() && name != "control" && name != "md5sums" {
			t.Errorf("%s would run, or change what others do", f.name)
		}
	}
	machine := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		check(t, os.MkdirAll(filepath.Join(machine, "var/lib/dpkg", dir), 0o755))
	}
	check(t, os.WriteFile(filepath.Join(machine, "var/lib/dpkg/status"), nil, 0o644))
	dpkg := func(args ...string) {
		do(t, "dpkg", append([]string{"--root=" + machine, "--force-not-root,architecture", "--log=" + os.DevNull}, args...)...)
	}
	dpkg("--install", deb)

	said := do(t, filepath.Join(machine, "usr/bin/tidemark"), "--version")
	if !strings.Contains(said, version) {
		t.Errorf("tidemark --version: %s", said)
	}
	page := gunzip(t, read(t, machine, "usr/share/man/man1/tidemark.1.gz"))
	for _, part := range []string{".TH TIDEMARK 1 ", "\n.SS \"tidemark changes\"\n", "\n.SS \"tidemark checkpoint add\"\n", `\-\-fail\-on`} {
		if !bytes.Contains(page, []byte(part)) {
			t.Errorf("the manual page has no %q", part)
		}
	}
	for _, name := range []string{
		"doc/tidemark/copyright", "doc/tidemark/README.md", "doc/tidemark/THIRD_PARTY_NOTICES",
		"bash-completion/completions/tidemark", "fish/vendor_completions.d/tidemark.fish", "zsh/vendor-completions/_tidemark",
	} {
		if len(read(t, machine, "usr/share/"+name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}

	dpkg("--purge", "tidemark")
	check(t, filepath.WalkDir(filepath.Join(machine, "usr"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("%s was left behind", path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}))
}

// The tags of scripts that the library has no name for.
const pretrans, posttrans = 1151, 1152

func TestTheRPMHoldsTheSameAndNoScripts(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	data := read(t, out, fmt.Sprintf("tidemark-%s-1.%s.rpm", version, arch))
	header, _, err := rpmutils.Verify(bytes.NewReader(data), nil) // reads all, and compares the digests
	check(t, err)
	about, err := header.GetNEVRA()
	check(t, err)
	if want := (rpmutils.NEVRA{Name: "tidemark", Epoch: "0", Version: version, Release: "1", Arch: arch}); *about != want {
		t.Errorf("got %v, want %v", about, &want)
	}
	for _, tag := range []int{rpmutils.PREIN, rpmutils.POSTIN, rpmutils.PREUN, rpmutils.POSTUN, pretrans, posttrans} {
		if header.HasTag(tag) {
			t.Errorf("a script would run: tag %d", tag)
		}
	}
	files, err := header.GetFiles()
	check(t, err)
	digests := make(map[string]string)
	for _, f := range files {
		digests[f.Name()] = f.Digest()
		if f.UserName() != "root" || f.GroupName() != "root" || f.Mode()&0o6022 != 0 {
			t.Errorf("%s: %o of %s:%s", f.Name(), f.Mode(), f.UserName(), f.GroupName())
		}
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(linuxArchive(t)["tidemark"])); digests["/usr/bin/tidemark"] != want {
		t.Errorf("/usr/bin/tidemark is %s, in the archive %s", digests["/usr/bin/tidemark"], want)
	}
	for _, name := range []string{"/usr/share/man/man1/tidemark.1.gz", "/usr/share/zsh/site-functions/_tidemark", "/usr/share/doc/tidemark/THIRD_PARTY_NOTICES"} {
		if digests[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestLinesThatCommandTheTypesetterAreEscaped(t *testing.T) {
	if got, want := roff("a\\b --c\n.d\n'e"), "a\\eb \\-\\-c\n\\&.d\n\\&'e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsALegalFile(t *testing.T) {
	for name, want := range map[string]bool{
		"LICENSE": true, "LICENSE.txt": true, "licence.md": true, "COPYING": true, "NOTICE": true, "LICENSE-MIT": true,
		"license.go": true, "licenses": false, "notices.go": false, "README.md": false,
	} {
		if legal.MatchString(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// linuxArchive are the files of the archive for this processor, without its folder.
func linuxArchive(t *testing.T) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for _, f := range untar(t, gunzip(t, read(t, out, fmt.Sprintf("tidemark_%s_linux_%s.tar.gz", version, runtime.GOARCH)))) {
		files[filepath.Base(f.name)] = f.data
	}
	return files
}

func unzip(t *testing.T, name string) []file {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(out, name))
	check(t, err)
	defer func() { check(t, archive.Close()) }()
	var files []file
	for _, entry := range archive.File {
		in, err := entry.Open()
		check(t, err)
		data, err := io.ReadAll(in)
		check(t, err)
		files = append(files, file{entry.Name, entry.Mode(), data})
	}
	return files
}

// untar fails where an entry is not root's.
func untar(t *testing.T, data []byte) []file {
	t.Helper()
	var files []file
	archive := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		check(t, err)
		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", header.Name, header.Uid, header.Gid)
		}
		data, err := io.ReadAll(archive)
		check(t, err)
		files = append(files, file{header.Name, header.FileInfo().Mode(), data})
	}
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(data))
	check(t, err)
	data, err = io.ReadAll(in)
	check(t, err)
	return data
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	check(t, err)
	return data
}

func do(t *testing.T, program string, args ...string) string {
	t.Helper()
	data, err := output(exec.Command(program, args...))
	check(t, err)
	return string(data)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
