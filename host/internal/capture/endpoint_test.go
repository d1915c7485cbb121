package capture

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplatePath(t *testing.T) {
	for path, want := range map[string]string{
		"/users/1":          "/users/{id}",
		"/users/42/posts/7": "/users/{id}/posts/{id}",
		"/users/me":         "/users/me",
		"/v1/users":         "/v1/users",
		"/api/v2":           "/api/v2",
		"/oauth2/token":     "/oauth2/token",
		"/s3/bucket":        "/s3/bucket",
		"/":                 "/",
		"":                  "",
		"/o/3f2504e0-4f89-41d3-9a0c-0305e82c3301":          "/o/{id}",
		"/o/3f2504e04f8941d39a0c0305e82c3301":              "/o/{id}",
		"/commits/9fceb02d":                                "/commits/{id}",
		"/commits/deadbeef":                                "/commits/deadbeef", // a word, as far as anybody can tell
		"/docs/1AbCdEf2GhIjKl3MnOp4QrSt":                   "/docs/{id}",
		"/docs/my-long-article-title-of-2024":              "/docs/my-long-article-title-of-2024",
		"/files/17.json":                                   "/files/{id}.json",
		"/assets/index-4f3a9c21.js":                        "/assets/index-{hash}.js",
		"/assets/index-B7x_9Qke.js":                        "/assets/index-{hash}.js",
		"/assets/index-B7-x9Qke.css":                       "/assets/index-{hash}.css",
		"/static/js/main.8a7b6c5d.chunk.js":                "/static/js/main.8a7b6c5d.chunk.js",
		"/_next/static/chunks/webpack-59c5c889f52620d6.js": "/_next/static/chunks/webpack-{hash}.js",
		"/img/3f2504e0-4f89-41d3-9a0c-0305e82c3301.png":    "/img/{id}.png",
		"/customers/cus_9s6XKzkNRiz8i3/cards":              "/customers/{id}/cards",
		"/jobs/build-9fceb02d":                             "/jobs/build-{id}",
		"/jobs/job-20240117":                               "/jobs/job-{id}",
		"/nano/V1StGXR8_Z5jdHi6B-myT":                      "/nano/{id}",
		"/ulid/01ARZ3NDEKTSV4RRFFQ69G5FAV":                 "/ulid/{id}",
		"/cuid/cjld2cjxh0000qzrmn831i7rn":                  "/cuid/{id}",
		"/news/release-notes-2024":                         "/news/release-notes-2024",
		"/news/top-10-of-2024-and-2025":                    "/news/top-10-of-2024-and-2025",
		"/node_modules/.vite/deps/react-dom_client.js":     "/node_modules/.vite/deps/react-dom_client.js",
		"/src/app.js":                                      "/src/app.js",
		"/img/photo-2.png":                                 "/img/photo-2.png",
		"/img/icon-32x32.png":                              "/img/icon-32x32.png",
	} {
		if got := TemplatePath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestSplitURL(t *testing.T) {
	for url, want := range map[string][2]string{
		"http://localhost:5173/a/b?q#f":    {"http://localhost:5173", "/a/b"},
		"http://localhost:5173":            {"http://localhost:5173", "/"},
		"http://localhost:5173?q=/x":       {"http://localhost:5173", "/"},
		"http://localhost:5173#/route":     {"http://localhost:5173", "/"},
		"https://user:pass@example.com/a":  {"https://example.com", "/a"},
		"https://example.com/a?mail=b@c.d": {"https://example.com", "/a"},
		"ws://localhost:5173/live?token=1": {"ws://localhost:5173", "/live"},
		"data:text/plain,hello?x":          {"", "data:"},
		"blob:http://localhost:5173/f-0-1": {"", "blob:"},
		"about:blank":                      {"", "about:blank"},
		"/relative?x":                      {"", "/relative"},
		"":                                 {"", ""},
	} {
		if origin, path := SplitURL(url); origin != want[0] || path != want[1] {
			t.Errorf("%s: %q, %q", url, origin, path)
		}
	}
}

// TestWordsInPathsAreNeverFolded: two paths of letters are one endpoint only when they are equal, and
// a template is its own template.
func TestWordsInPathsAreNeverFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`(/[A-Za-z_.-]{0,40}){1,4}`).Draw(t, "words")
		if got := TemplatePath(words); got != words {
			t.Errorf("%s became %s", words, got)
		}
		path := rapid.StringMatching(`(/[0-9a-fA-Fx_.-]{0,40}){1,4}`).Draw(t, "path")
		once := TemplatePath(path)
		if twice := TemplatePath(once); twice != once {
			t.Errorf("%s became %s, then %s", path, once, twice)
		}
		id := rapid.StringMatching(`[0-9]{1,12}`).Draw(t, "id")
		if got := TemplatePath("/a/" + id + "/b"); got != "/a/{id}/b" {
			t.Errorf("%s became %s", id, got)
		}
	})
}

var origins = regexp.MustCompile(`^[a-z]+://[^/?#]+$`)

func FuzzSplitURL(f *testing.F) {
	for _, url := range []string{"http://a@b:1/c?d#e", "://", "x://@", "http://[::1]:8080/x", "data:,", "http://a?@/"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		origin, path := SplitURL(url)
		if len(origin)+len(path) > len(url)+1 {
			t.Errorf("%q: %q and %q are longer than it", url, origin, path)
		}
		if origins.MatchString(url) && path != "/" {
			t.Errorf("%q: path %q", url, path)
		}
		_ = TemplatePath(path)
	})
}
