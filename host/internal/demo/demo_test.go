package demo

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a shop on httptest servers; pauses are recorded instead of waited for.
func serve(t *testing.T) (shop *Shop, page, rates *httptest.Server, paused *[]time.Duration) {
	t.Helper()
	shop = New()
	paused = new([]time.Duration)
	shop.pause = func(_ context.Context, d time.Duration) { *paused = append(*paused, d) }
	page, rates = httptest.NewServer(shop), httptest.NewServer(shop.Rates())
	shop.UseRates(rates.URL)
	t.Cleanup(func() {
		if err := shop.Close(); err != nil {
			t.Error(err)
		}
		page.Close()
		rates.Close()
	})
	return shop, page, rates, paused
}

func get(t *testing.T, url string) (status int, body string, header http.Header) {
	t.Helper()
	return do(t, http.MethodGet, url, "")
}

func do(t *testing.T, method, url, body string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

func TestEverythingThatThePageNamesIsServed(t *testing.T) {
	_, page, rates, _ := serve(t)
	_, html, _ := get(t, page.URL+"/")
	if !strings.Contains(html, `data-rates="`+rates.URL+`"`) {
		t.Error("the page does not name the second origin")
	}
	paths := []string{"/favicon.ico", "/shipping.js", "/api/products", "/api/products/3", "/api/reviews?page=12", "/api/cart"}
	for _, m := range regexp.MustCompile(`(?:src|href)="(/[^"]*)"`).FindAllStringSubmatch(html, -1) {
		paths = append(paths, m[1])
	}
	for _, p := range goods {
		paths = append(paths, p.Image)
	}
	for _, path := range paths {
		status, _, header := get(t, page.URL+path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		if header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached, so that the next edit would not be seen", path)
		}
		if strings.HasSuffix(path, ".svg") && header.Get("Content-Type") != "image/svg+xml" {
			t.Errorf("%s: %s", path, header.Get("Content-Type"))
		}
	}
	if status, _, _ := get(t, page.URL+"/absent"); status != http.StatusNotFound {
		t.Errorf("/absent: %d", status)
	}
}

func TestEditsFitTheFilesExactlyOnceAndAreTakenBack(t *testing.T) {
	shop, _, _, _ := serve(t)
	for _, e := range edits {
		before, err := shop.page(e.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(before, e.old); n != 1 {
			t.Errorf("%s: the text to edit occurs %d times in %s", e.breakage, n, e.file)
		}
		b, ok := Find(e.breakage)
		if !ok {
			t.Fatalf("an edit belongs to %q, which is no breakage", e.breakage)
		}
		b.Break(shop)
		during, err := shop.page(e.file)
		if err != nil {
			t.Fatal(err)
		}
		if during == before || !strings.Contains(during, e.new) {
			t.Errorf("%s does not edit %s", e.breakage, e.file)
		}
		b.Mend(shop)
		after, err := shop.page(e.file)
		if err != nil {
			t.Fatal(err)
		}
		if after != before {
			t.Errorf("%s left an edit behind", e.breakage)
		}
	}
}

func TestBreakagesAreTold(t *testing.T) {
	names := make(map[string]bool)
	for _, b := range Breakages {
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(b.Name) || names[b.Name] {
			t.Errorf("name %q", b.Name)
		}
		names[b.Name] = true
		if b.Title == "" || !strings.HasSuffix(b.Story, ".") || strings.Count(b.Story, ". ") > 0 {
			t.Errorf("%s: a title and one sentence are needed: %q, %q", b.Name, b.Title, b.Story)
		}
		e := b.Expect
		signals := len(e.Errors) + len(e.Warnings) + len(e.Failures) + len(e.Degraded) + len(e.Disconnections) + len(e.SocketErrors) + len(e.Elements)
		if (e.Severity == "clean") != (signals == 0) {
			t.Errorf("%s: severity %q with %d signals", b.Name, e.Severity, signals)
		}
		if b.Trigger == "" || b.Recover == "" {
			t.Errorf("%s: steps are missing", b.Name)
		}
	}
	if len(Breakages) < 10 {
		t.Errorf("only %d breakages", len(Breakages))
	}
	if _, ok := Find("absent"); ok {
		t.Error("found what is not there")
	}
}

func TestServerSideBreakagesShowAndRecover(t *testing.T) {
	shop, page, rates, paused := serve(t)
	// The result of an endpoint as text for each breakage: healthy, then broken.
	probes := map[string]struct {
		look            func() string
		healthy, broken string
	}{
		"api_500":       {func() string { return short(get(t, page.URL+"/api/products")) }, "200", "500"},
		"renamed_field": {func() string { return keys(t, page.URL+"/api/products/1") }, "price", "unit_price"},
		"image_404":     {func() string { return image(t, page.URL) }, "/images/lantern.svg", "/images/storm-lantern.svg"},
		"cors_blocked": {func() string {
			_, _, header := get(t, rates.URL+"/rates")
			return "origin " + header.Get("Access-Control-Allow-Origin")
		}, "origin *", "origin "},
		"slow_endpoint": {func() string {
			*paused = nil
			get(t, page.URL+"/api/search?q=la")
			return (*paused)[0].String()
		}, "150ms", "750ms"},
		"unhandled_rejection": {func() string {
			_, _, header := do(t, http.MethodPost, page.URL+"/api/wishlist", `{"product":1}`)
			return header.Get("Content-Type")
		}, "application/json", "text/html; charset=utf-8"},
		"dead_connection": {func() string {
			return short(do(t, http.MethodPost, page.URL+"/api/cart", `{"product":1,"quantity":1}`))
		}, "200", "0"},
	}
	for name, probe := range probes {
		b, ok := Find(name)
		if !ok {
			t.Fatalf("no breakage %q", name)
		}
		if got := probe.look(); got != probe.healthy {
			t.Errorf("%s, healthy: %s, want %s", name, got, probe.healthy)
		}
		b.Break(shop)
		if got := probe.look(); got != probe.broken {
			t.Errorf("%s, broken: %s, want %s", name, got, probe.broken)
		}
		b.Mend(shop)
		if got := probe.look(); got != probe.healthy {
			t.Errorf("%s, mended: %s, want %s", name, got, probe.healthy)
		}
	}
}

func short(status int, _ string, _ http.Header) string { return strconv.Itoa(status) }

// keys returns the name of a product's price field.
func keys(t *testing.T, url string) string {
	t.Helper()
	_, body, _ := get(t, url)
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, key := range []string{"price", "unit_price"} {
		if _, ok := m[key]; ok {
			found = append(found, key)
		}
	}
	return strings.Join(found, " and ")
}

// image is where the page looks for the lantern's picture.
func image(t *testing.T, origin string) string {
	t.Helper()
	_, body, _ := get(t, origin+"/api/products/2")
	var p product
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	return p.Image
}

func TestFeedTellsClosesAndComesBack(t *testing.T) {
	shop, page, _, _ := serve(t)
	dial := func() *websocket.Conn {
		conn, _, err := websocket.Dial(t.Context(), page.URL+"/ws/stock", nil) //nolint:bodyclose // the library has closed it
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	read := func(conn *websocket.Conn) string {
		_, data, err := conn.Read(t.Context())
		if err != nil {
			return "closed: " + websocket.CloseStatus(err).String()
		}
		return string(data)
	}
	expect := func(conn *websocket.Conn, want string) {
		t.Helper()
		if got := read(conn); got != want {
			t.Errorf("the feed said %s, want %s", got, want)
		}
	}
	conn := dial()
	expect(conn, `{"type":"hello"}`)
	shop.PushStock(3, 7)
	expect(conn, `{"type":"stock","id":3,"stock":7}`)

	trouble, _ := Find("socket_error")
	trouble.Break(shop)
	expect(conn, `{"type":"error","message":"stock feed: warehouse 3 does not respond"}`)
	trouble.Mend(shop)
	expect(conn, `{"type":"hello"}`)

	closed, _ := Find("socket_closed")
	closed.Break(shop)
	expect(conn, "closed: StatusInternalError")
	expect(dial(), "closed: StatusInternalError")
	closed.Mend(shop)
	conn = dial()
	expect(conn, `{"type":"hello"}`)
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

func TestCartAddsRemovesAndChecksOut(t *testing.T) {
	_, page, _, _ := serve(t)
	post := func(path, body string) string {
		status, text, _ := do(t, http.MethodPost, page.URL+path, body)
		return strconv.Itoa(status) + " " + strings.TrimSpace(text)
	}
	post("/api/cart", `{"product":3,"quantity":2}`)
	if got := post("/api/cart", `{"product":1,"quantity":1}`); !strings.Contains(got, `"total":104`) {
		t.Errorf("cart = %s", got)
	}
	if got := post("/api/cart", `{"product":3,"quantity":0}`); !strings.Contains(got, `"total":68`) {
		t.Errorf("cart = %s", got)
	}
	for body, want := range map[string]string{`{"product":99,"quantity":1}`: "400", `{"product":1,"quantity":-1}`: "400", `[`: "400"} {
		if got := post("/api/cart", body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := post("/api/checkout", `{"name":"","email":""}`); !strings.HasPrefix(got, "422") {
		t.Errorf("checkout without a name: %s", got)
	}
	if got := post("/api/checkout", `{"name":"Anna","email":"anna@example.com"}`); !strings.Contains(got, "LT-0001") {
		t.Errorf("checkout: %s", got)
	}
	if _, text, _ := get(t, page.URL+"/api/cart"); !strings.Contains(text, `"total":0`) {
		t.Errorf("the cart after the order: %s", text)
	}
}

func TestStartServesOnLoopbackAndCloseEndsAll(t *testing.T) {
	shop := New()
	url, err := shop.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/$`).MatchString(url) {
		t.Errorf("url = %s", url)
	}
	conn, _, err := websocket.Dial(t.Context(), url+"ws/stock", nil) //nolint:bodyclose // the library has closed it
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // the shop closes it
	if err := shop.Close(); err != nil {
		t.Error(err)
	}
	if status, _, _ := get(t, url); status != 0 {
		t.Errorf("still served: %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
}
