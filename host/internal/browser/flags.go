package browser

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
)

// baseFlags are the switches of every launch. None changes what a page sees. They replace chromedp's
// defaults, which disable extensions, throttling, pop-up blocking and more.
var baseFlags = []string{
	// The pipe, and loading the extension through it.
	"--remote-debugging-pipe",
	"--enable-unsafe-extension-debugging",
	// The debugging bar would push the page down whenever capture begins.
	"--silent-debugger-extension-api",
	// The pipe alone makes navigator.webdriver true. This makes it false.
	"--disable-blink-features=AutomationControlled",
	// Without it, a bar in every window warns about the switch above.
	"--test-type",
	// No questions in a new profile.
	"--no-first-run",
	"--no-default-browser-check",
	"--password-store=basic",
	"--use-mock-keychain",
	// No network traffic except what pages request.
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	"--disable-breakpad",
	"--disable-domain-reliability",
	"--metrics-recording-only",
	"--no-pings",
	"--disable-auto-reload", // an error page would load its address again and again
	"--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater," +
		"DialMediaRouteProvider,InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Translate",
	// QUIC hides requests' timing from captures and needs UDP.
	"--disable-quic",
}

// listFlags have comma-separated lists as values. A browser reads only the last occurrence of each.
var listFlags = map[string]bool{
	"disable-features":       true,
	"enable-features":        true,
	"disable-blink-features": true,
	"enable-blink-features":  true,
}

// switches returns the options for chromedp: base flags, extra arguments and the user data directory.
func switches(opts Options, dir string) ([]chromedp.ExecAllocatorOption, error) {
	args := append([]string(nil), baseFlags...)
	if opts.Headless {
		args = append(args, "--headless=new", "--mute-audio", "--disable-gpu")
	}
	width, height := opts.Width, opts.Height
	if opts.Headless && (width == 0 || height == 0) {
		width, height = 1280, 800
	}
	if width > 0 && height > 0 {
		args = append(args, fmt.Sprintf("--window-size=%d,%d", width, height))
	}
	if noSandbox() {
		args = append(args, "--no-sandbox")
	}
	names, values, err := merge(args, opts.ExtraArgs)
	if err != nil {
		return nil, err
	}
	var out []chromedp.ExecAllocatorOption
	for _, name := range names {
		if value := values[name]; value == "" {
			out = append(out, chromedp.Flag(name, true))
		} else {
			out = append(out, chromedp.Flag(name, value))
		}
	}
	return append(out, chromedp.UserDataDir(dir)), nil
}

// merge joins two lists of switches: names in the order of their first occurrence, each with its value
// ("" for none). Extra switches replace base switches, except that lists are joined.
func merge(base, extra []string) (names []string, values map[string]string, err error) {
	values = make(map[string]string)
	add := func(arg string) error {
		name, ok := strings.CutPrefix(arg, "--")
		if !ok || name == "" {
			return fmt.Errorf("%q is not a browser switch. Write --name or --name=value.", arg)
		}
		name, value, _ := strings.Cut(name, "=")
		switch name {
		case "user-data-dir", "remote-debugging-port", "remote-debugging-address":
			return fmt.Errorf("Tidemark sets the browser switch --%s itself. Remove it.", name)
		}
		old, seen := values[name]
		if !seen {
			names = append(names, name)
		}
		if listFlags[name] && old != "" && value != "" {
			value = old + "," + value
		}
		values[name] = value
		return nil
	}
	for _, list := range [][]string{base, extra} {
		for _, arg := range list {
			if err := add(arg); err != nil {
				return nil, nil, err
			}
		}
	}
	return names, values, nil
}

// ownEnv makes the browser write into its profile instead of elsewhere.
func ownEnv(headless bool, dir string) []string {
	env := []string{"BREAKPAD_DUMP_LOCATION=" + filepath.Join(dir, "Crash Reports")}
	if headless {
		// GTK settings are useless without a window, and reading them leaves a cache behind.
		env = append(env, "GSETTINGS_BACKEND=memory")
	}
	return env
}
