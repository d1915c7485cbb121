package hunts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/testing/npm"
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
	if err := npm.Install(from, dir); err != nil {
		return "", err
	}
	if scaffold := scaffolds[app]; scaffold != nil {
		if err := scaffold(dir); err != nil {
			return "", err
		}
	}
	if err := npm.Overlay(dir, from); err != nil {
		return "", err
	}
	return dir, npm.Overlay(dir, filepath.Join(appsDir, "serve.mjs"))
}

// scaffolds write the applications that others made, from the templates of installed packages.
var scaffolds = map[string]func(dir string) error{
	"admin": func(dir string) error {
		templates := filepath.Join(dir, "node_modules", "create-react-admin", "templates")
		return errors.Join(
			npm.Overlay(dir, filepath.Join(templates, "common")),
			npm.Overlay(dir, filepath.Join(templates, "ra-data-json-server")),
		)
	},
	"sveltekit": func(dir string) error {
		temp, err := os.MkdirTemp("", "tmk")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(temp) }()
		made := filepath.Join(temp, "app")
		if err := npm.Run(dir, filepath.Join(dir, "node_modules", ".bin", "sv"), "create", made, "--template", "demo", "--types", "ts", "--no-add-ons", "--no-install"); err != nil {
			return err
		}
		return npm.Overlay(dir, made)
	},
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
