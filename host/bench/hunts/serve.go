package hunts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Where the applications are, and where they are installed, from the project's top folder.
const (
	appsDir  = "host/bench/apps"
	cacheDir = ".cache/hunts"
)

// patience bounds every wait for a process.
const patience = time.Minute

// server is an application that is served.
type server struct {
	dir string
	url string

	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string
	said    *bytes.Buffer // on standard error
}

// install copies an application to where it is served, with the packages that its lock file names, and returns that
// folder.
func install(app string) (string, error) {
	from := filepath.Join(appsDir, app)
	dir, err := filepath.Abs(filepath.Join(cacheDir, app))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := packages(from, dir); err != nil {
		return "", err
	}
	// What an earlier run left, and what it was stopped in.
	left, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range left {
		if entry.Name() != "node_modules" {
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return "", err
			}
		}
	}
	if scaffold := scaffolds[app]; scaffold != nil {
		if err := scaffold(dir); err != nil {
			return "", err
		}
	}
	if err := overlay(dir, from); err != nil {
		return "", err
	}
	return dir, overlay(dir, filepath.Join(appsDir, "serve.mjs"))
}

// packages installs the packages where they are not those of the lock file.
func packages(from, dir string) error {
	locked, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return err
	}
	ready := filepath.Join(dir, "node_modules", ".ready")
	if there, err := os.ReadFile(ready); err == nil && bytes.Equal(there, locked) {
		return nil
	}
	for _, name := range []string{".npmrc", "package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	if err := run(dir, "npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(ready, locked, 0o600)
}

// scaffolds write the applications that others made, from the templates of installed packages.
var scaffolds = map[string]func(dir string) error{
	"admin": func(dir string) error {
		templates := filepath.Join(dir, "node_modules", "create-react-admin", "templates")
		return errors.Join(
			overlay(dir, filepath.Join(templates, "common")),
			overlay(dir, filepath.Join(templates, "ra-data-json-server")),
		)
	},
	"sveltekit": func(dir string) error {
		temp, err := os.MkdirTemp("", "tmk")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(temp) }()
		made := filepath.Join(temp, "app")
		if err := run(dir, filepath.Join(dir, "node_modules", ".bin", "sv"), "create", made, "--template", "demo", "--types", "ts", "--no-add-ons", "--no-install"); err != nil {
			return err
		}
		return overlay(dir, made)
	},
}

// overlay copies a folder's files, or one file, into dir.
func overlay(dir, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if name == "." {
			name = entry.Name()
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}

// serve starts the application in dir.
func serve(dir string) (_ *server, err error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, answers: make(chan string), said: &bytes.Buffer{}}
	s.cmd = exec.Command("node", "serve.mjs")
	s.cmd.Dir, s.cmd.Stderr = dir, s.said
	s.cmd.Env = append(os.Environ(), "NODE_ENV=development", "PORT="+strconv.Itoa(port))
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.answers <- lines.Text()
		}
	}()
	if s.url, err = s.answer("http://"); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// answer is the next line that the server writes that begins so. Applications may write lines of their own.
func (s *server) answer(prefix string) (string, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case line, ok := <-s.answers:
			if !ok {
				return "", fmt.Errorf("the server in %s ended: %s", s.dir, s.said)
			}
			if strings.HasPrefix(line, prefix) {
				return line, nil
			}
		case <-timeout.C:
			return "", fmt.Errorf("the server in %s does not answer", s.dir)
		}
	}
}

// reload makes the server read its files again, and forget what pages did.
func (s *server) reload() error {
	if _, err := io.WriteString(s.in, "reload\n"); err != nil {
		return err
	}
	_, err := s.answer("ok")
	return err
}

// stop ends the server.
func (s *server) stop() error {
	_ = s.in.Close()
	ended := time.AfterFunc(5*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer ended.Stop()
	for range s.answers { // until its output ends
	}
	_ = s.cmd.Wait() // killed or not, it has ended
	return nil
}

// freePort is a port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
