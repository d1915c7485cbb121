//go:build !windows

package terminal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/recording"
)

// asking is a program that asks for passwords, and says done at its end.
type asking struct {
	name string
	// needs are programs without which it is not tried.
	needs []string
	args  []string
	// prompts are what it shows before each password is typed. They are the same password.
	prompts []string
	// covers means that it shows a star for each key, which is waited for.
	covers bool
	// again is the prompt of one more attempt, at which Ctrl+D is typed.
	again string
}

// sh is a program that a shell runs, whatever its status.
func sh(script string) []string { return []string{"sh", "-c", script + "; echo done"} }

// TestNoPasswordTypedIntoAProgramIsRecorded types passwords into programs that people use, and looks for them in the recordings.
func TestNoPasswordTypedIntoAProgramIsRecorded(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "GNUPGHOME": dir, "GIT_ASKPASS": "", "SSH_ASKPASS": "", "SSH_AUTH_SOCK": "", "DISPLAY": "", "TERM": "xterm"} {
		t.Setenv(name, value)
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer refuses.Close()
	ssh := sshTo(t, dir)
	all := []asking{
		{"read -s of bash", []string{"bash"}, []string{"bash", "-c", `read -rsp 'Password: ' a; echo; read -rsp 'Again: ' b; echo done`}, []string{"Password: ", "Again: "}, false, ""},
		{"read -s of zsh", []string{"zsh"}, []string{"zsh", "-fc", `read -s 'a?Your phrase> '; echo done`}, []string{"phrase> "}, false, ""},
		{"read -s of fish", []string{"fish"}, []string{"fish", "--no-config", "-c", `read -s -P 'Key: ' a; echo done`}, []string{"Key: "}, false, ""},
		{"read -s in bash", []string{"bash"}, []string{"bash", "--norc", "-ic", `read -rsp 'Number: ' a; echo done`}, []string{"Number: "}, false, ""},
		{"stty -echo", nil, []string{"sh", "-c", `stty -echo; printf 'Code: '; read a; stty echo; echo done`}, []string{"Code: "}, false, ""},
		{"getpass", []string{"python3"}, []string{"python3", "-c", `import getpass; getpass.getpass("Word: "); getpass.getpass("Once more: "); print("done")`}, []string{"Word: ", "Once more: "}, false, ""},
		{"a prompt that shows what is typed", nil, []string{"sh", "-c", `printf 'API token: '; read a; echo done`}, []string{"API token: "}, false, ""},
		{"readline of Node.js", []string{"node"}, []string{"node", "-e", `
			const out = new (require('stream').Writable)({ write(c, _, f) { if (!this.muted) process.stdout.write(c); f() } })
			const rl = require('readline').createInterface({ input: process.stdin, output: out, terminal: true })
			rl.question('Passphrase: ', () => { out.muted = false; console.log('done'); rl.close() }); out.muted = true`}, []string{"Passphrase: "}, false, ""},
		{"a TUI that shows stars", []string{"node"}, []string{"node", "-e", `
			process.stdin.setRawMode(true); process.stdin.on('data', (d) => { for (const c of String(d)) {
				if (c === '\r') { process.stdout.write('\x1b[?1049ldone\n'); process.exit() }
				process.stdout.write('*') } })
			process.stdout.write('\x1b[?1049h\x1b[5;5HPassword\x1b[7;5H> ')`}, []string{"> "}, true, ""},
		{"whiptail", []string{"whiptail"}, sh(`whiptail --passwordbox 'Enter it' 8 40 2>/dev/null`), []string{"Cancel"}, true, ""},
		{"sudo", []string{"sudo", "setpriv"}, sh(`setpriv --reuid 65534 --regid 65534 --clear-groups sudo -k -p 'Who are you? ' true`), []string{"Who are you? "}, false, "Who are you? "},
		{"ssh", []string{"ssh"}, sh(ssh + ` -o PubkeyAuthentication=no -o NumberOfPasswordPrompts=2 nobody@localhost`), []string{"password: ", "password: "}, false, ""},
		{"a program behind ssh", []string{"ssh", "bash"}, sh(ssh + ` -tt localhost "bash --norc -c 'read -rsp \"Password: \" a; echo'"`), []string{"Password: "}, false, ""},
		{"ssh-keygen", []string{"ssh-keygen"}, sh(`rm -f new*; ssh-keygen -q -t ed25519 -f new`), []string{"passphrase): ", "again: "}, false, ""},
		{"openssl", []string{"openssl"}, sh(`openssl genpkey -algorithm ed25519 -aes256 -out /dev/null`), []string{"phrase:", "phrase:"}, false, ""},
		{"curl", []string{"curl"}, sh(`curl -s -u kim ` + refuses.URL), []string{"'kim':"}, false, ""},
		{"git", []string{"git"}, sh(`git -c credential.helper= ls-remote http://kim@` + refuses.Listener.Addr().String() + `/repository`), []string{"': "}, false, ""},
	}
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			for _, program := range a.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s is not installed", program)
				}
			}
			if strings.Contains(strings.Join(a.args, " "), "ssh -F") && ssh == "" {
				t.Skip("the server of OpenSSH is not installed, or only root can start it")
			}
			for _, input := range []bool{true, false} {
				typesPassword(t, a, input, dir)
			}
		})
	}
}

// typesPassword answers a program, with and without the user's leave to record what is typed.
func typesPassword(t *testing.T, a asking, input bool, dir string) {
	u := record(t, setup{input: input, dir: dir}, a.args...)
	for _, prompt := range a.prompts {
		u.see(prompt)
		for _, c := range "Zebra-Quartz" { // in parts, as it is typed
			u.typed(string(c))
			if a.covers {
				u.see("*")
			}
		}
		u.typed("\r")
	}
	if a.again != "" {
		u.see(a.again)
		u.typed("\x04")
	}
	u.see("done")
	u.exit()
	events, data := u.recorded()
	if strings.Contains(data, "Zebra") || strings.Contains(data, "Quartz") {
		t.Errorf("the password is recorded: %q", data)
	}
	var keys strings.Builder
	for _, e := range events {
		if e.Code == recording.Input {
			keys.Write(e.Data)
		}
	}
	if strings.ContainsAny(keys.String(), "Zebra-Quartz") {
		t.Errorf("keys of the password are recorded: %q", keys.String())
	}
}

// sshTo returns a command line of ssh to this machine: it starts OpenSSH's server for its connection alone, without a port. The server
// takes a key of its own and no password. It is "" where that cannot be started.
func sshTo(t *testing.T, dir string) string {
	t.Helper()
	const server, separated = "/usr/sbin/sshd", "/run/sshd"
	if _, err := os.Stat(server); err != nil || os.Geteuid() != 0 {
		return ""
	}
	if err := os.Mkdir(separated, 0o755); err == nil { // the server wants it
		t.Cleanup(func() { _ = os.Remove(separated) })
	}
	key := filepath.Join(dir, "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := filepath.Join(dir, "sshd_config")
	text := fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n", key, key)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("ssh -F none -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o 'ProxyCommand=%s -i -f %s -E /dev/null'", key, server, config)
}
