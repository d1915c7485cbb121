package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// bareBrowser is a browser with an extension that is only a worker.
type bareBrowser struct {
	*browser.Browser
	dir string
}

// startBareBrowser launches a browser whose extension may use the debugger on pages of 127.0.0.1.
func startBareBrowser(worker string) (_ *bareBrowser, err error) {
	b := &bareBrowser{}
	if b.dir, err = os.MkdirTemp("", "tmb"); err != nil {
		return nil, err
	}
	const manifest = `{"manifest_version":3,"name":"bare","version":"1","permissions":["debugger","tabs"],"host_permissions":["http://127.0.0.1/*"],"background":{"service_worker":"worker.js"}}`
	for name, text := range map[string]string{"worker.js": worker, "manifest.json": manifest} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	if b.Browser, err = browser.Launch(context.Background(), browser.Options{Headless: true, ExtensionDir: b.dir, Notes: io.Discard}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := chromedp.Do(b.Context()); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close ends the browser and removes the extension.
func (b *bareBrowser) Close() (err error) {
	if b.Browser != nil {
		err = b.Browser.Close()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// bareClient is what acting is compared with: an extension that sends the same input through the debugger, waits as a
// tool must that reports what the input caused, and then reads the page's accessibility tree once. It captures,
// checks and compares nothing.
type bareClient struct {
	browser *bareBrowser
	server  *httptest.Server
	orders  chan bareOrder
	answers chan bareAnswer
}

// bareOrder is one call of the bare client.
type bareOrder struct {
	// Do is open, go, type or click.
	Do  string `json:"do"`
	URL string `json:"url,omitempty"`
	// Role and Name are those of the element in the last tree.
	Role  string   `json:"role,omitempty"`
	Name  string   `json:"name,omitempty"`
	Texts []string `json:"texts,omitempty"`
}

type bareAnswer struct {
	Error string `json:"error"`
	// Page has the role and name of each element.
	Page []string `json:"page"`
}

func startBareClient() (c *bareClient, err error) {
	c = &bareClient{orders: make(chan bareOrder), answers: make(chan bareAnswer, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /next", func(w http.ResponseWriter, req *http.Request) {
		select {
		case order := <-c.orders:
			_ = json.NewEncoder(w).Encode(order)
		case <-req.Context().Done():
		}
	})
	mux.HandleFunc("POST /done", func(_ http.ResponseWriter, req *http.Request) {
		var answer bareAnswer
		if err := json.NewDecoder(req.Body).Decode(&answer); err != nil {
			answer.Error = err.Error()
		}
		c.answers <- answer
	})
	c.server = httptest.NewServer(mux)
	if c.browser, err = startBareBrowser(strings.ReplaceAll(bareWorker, "SITE", c.server.URL)); err != nil {
		c.server.Close()
		return nil, err
	}
	return c, nil
}

func (c *bareClient) close() error {
	err := c.browser.Close()
	c.server.CloseClientConnections()
	c.server.Close()
	return err
}

// do carries out an order and returns how long that took.
func (c *bareClient) do(order bareOrder) (time.Duration, error) {
	limit := time.NewTimer(testbed.Patience)
	defer limit.Stop()
	began := time.Now()
	select {
	case c.orders <- order:
	case <-limit.C:
		return 0, fmt.Errorf("the bare client does not take %q", order.Do)
	}
	select {
	case answer := <-c.answers:
		took := time.Since(began)
		if answer.Error != "" {
			return 0, fmt.Errorf("the bare client: %s %s %q: %s", order.Do, order.Role, order.Name, answer.Error)
		}
		return took, nil
	case <-limit.C:
		return 0, fmt.Errorf("the bare client does not finish %q", order.Do)
	}
}

// bareWorker does what it is ordered. Input is sent without waiting in between, as the browser keeps the order.
const bareWorker = `
let tab, tree = [], loaded
const send = (method, params) => chrome.debugger.sendCommand({ tabId: tab }, method, params)
chrome.debugger.onEvent.addListener((source, method) => { if (method === 'Page.loadEventFired') loaded?.() })

const rests = (frames) => send('Runtime.evaluate', { expression: 'pageRests(' + frames + ')', awaitPromise: true })

function press(key, code, text) {
  const about = { key, ...(code && { code: key, windowsVirtualKeyCode: code }) }
  return [send('Input.dispatchKeyEvent', { type: 'keyDown', text, ...about }), send('Input.dispatchKeyEvent', { type: 'keyUp', ...about })]
}

function find({ role, name }) {
  const found = tree.find((n) => n.role?.value === role && n.name?.value === name)
  if (found === undefined) throw new Error('it is not in the tree')
  return found.backendDOMNodeId
}

const operations = {
  async open({ url }) {
    const created = await chrome.tabs.create({ url })
    if (tab !== undefined) await chrome.tabs.remove(tab)
    tab = created.id
    while ((await chrome.tabs.get(tab)).status !== 'complete') await new Promise((done) => setTimeout(done, 20))
    await chrome.debugger.attach({ tabId: tab }, '1.3')
    await send('Page.enable')
    await send('Emulation.setFocusEmulationEnabled', { enabled: true })
  },
  async go({ url }) {
    const load = new Promise((done) => { loaded = done })
    await send('Page.navigate', { url })
    await load
    await rests(2)
  },
  async type(order) {
    const backendNodeId = find(order)
    for (const [i, text] of order.texts.entries()) {
      await send('DOM.focus', { backendNodeId })
      await Promise.all([...[...text].flatMap((c) => press(c, 0, c)), ...press('Enter', 13, '\r')])
      await rests(i < order.texts.length - 1 ? 1 : 2)
    }
  },
  async click(order) {
    const { model } = await send('DOM.getBoxModel', { backendNodeId: find(order) })
    const [left, top, , , right, bottom] = model.border
    const at = { x: (left + right) / 2, y: (top + bottom) / 2 }
    const button = { ...at, button: 'left', clickCount: 1 }
    await Promise.all([
      send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at }),
      send('Input.dispatchMouseEvent', { type: 'mousePressed', buttons: 1, ...button }),
      send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...button }),
    ])
    await rests(2)
  },
}

async function follow(order) {
  await operations[order.do](order)
  tree = (await send('Accessibility.getFullAXTree')).nodes.filter((n) => !n.ignored)
  return { page: tree.map((n) => n.role?.value + ' ' + n.name?.value) }
}

async function work() {
  for (;;) {
    const order = await (await fetch('SITE/next')).json()
    const answer = await follow(order).catch((error) => ({ error: String(error) }))
    await fetch('SITE/done', { method: 'POST', body: JSON.stringify(answer) })
  }
}
void work()
`
