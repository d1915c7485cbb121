package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	// searchTime is the duration of a search, slowSearchTime the duration without its index.
	searchTime     = 150 * time.Millisecond
	slowSearchTime = 750 * time.Millisecond
)

func (s *Shop) products(w http.ResponseWriter, _ *http.Request) {
	if s.is("api_500") {
		reply(w, http.StatusInternalServerError, map[string]string{"error": `column "discount" does not exist`})
		return
	}
	list := make([]any, len(goods))
	for i, p := range goods {
		list[i] = s.shown(p)
	}
	reply(w, http.StatusOK, list)
}

func (s *Shop) product(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.Atoi(r.PathValue("id")) // no product has ID 0
	p, ok := findProduct(id)
	if !ok {
		reply(w, http.StatusNotFound, map[string]string{"error": fmt.Sprintf("there is no product %q", r.PathValue("id"))})
		return
	}
	reply(w, http.StatusOK, s.shown(p))
}

// shown returns a product as the API currently returns it.
func (s *Shop) shown(p product) any {
	if s.is("image_404") && p.ID == 2 {
		p.Image = "/images/storm-lantern.svg"
	}
	if !s.is("renamed_field") {
		return p
	}
	return struct {
		product
		Price     any     `json:"price,omitempty"` // hides the embedded one
		UnitPrice float64 `json:"unit_price"`
	}{product: p, UnitPrice: p.Price}
}

func (s *Shop) search(w http.ResponseWriter, r *http.Request) {
	took := searchTime
	if s.is("slow_endpoint") {
		took = slowSearchTime
	}
	s.pause(r.Context(), took)
	reply(w, http.StatusOK, map[string]any{"ids": matching(r.URL.Query().Get("q"))})
}

func (s *Shop) reviews(w http.ResponseWriter, r *http.Request) {
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 || page > reviewPages {
		reply(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("page must be from 1 to %d", reviewPages)})
		return
	}
	var next *int
	if page < reviewPages {
		next = new(page + 1)
	}
	reply(w, http.StatusOK, map[string]any{"reviews": reviewsOf(page), "next": next})
}

// line is one product in the cart.
type line struct {
	Product  int     `json:"product"`
	Name     string  `json:"name"`
	Price    float64 `json:"price"`
	Image    string  `json:"image"`
	Grams    int     `json:"grams"`
	Quantity int     `json:"quantity"`
}

func (s *Shop) readCart(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, s.cartNow())
}

// changeCart adds to the quantity of a product. Zero removes the product.
func (s *Shop) changeCart(w http.ResponseWriter, r *http.Request) {
	if s.is("dead_connection") {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	var ask struct {
		Product  int `json:"product"`
		Quantity int `json:"quantity"`
	}
	if !read(w, r, &ask) {
		return
	}
	if _, ok := findProduct(ask.Product); !ok || ask.Quantity < 0 || ask.Quantity > 99 {
		reply(w, http.StatusBadRequest, map[string]string{"error": "a known product and a quantity from 0 to 99 are required"})
		return
	}
	s.mu.Lock()
	if ask.Quantity == 0 {
		delete(s.cart, ask.Product)
	} else {
		s.cart[ask.Product] += ask.Quantity
	}
	s.mu.Unlock()
	reply(w, http.StatusOK, s.cartNow())
}

// cartNow returns the cart in the order of the collection.
func (s *Shop) cartNow() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, total := []line{}, 0.0
	for _, p := range goods {
		if n := s.cart[p.ID]; n > 0 {
			lines = append(lines, line{p.ID, p.Name, p.Price, p.Image, p.Grams, n})
			total += p.Price * float64(n)
		}
	}
	return map[string]any{"lines": lines, "total": total}
}

func (s *Shop) coupon(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Code string `json:"code"`
	}
	if !read(w, r, &ask) {
		return
	}
	if ask.Code != "TIDE10" || s.is("toast_flash") {
		reply(w, http.StatusOK, map[string]any{"valid": false})
		return
	}
	reply(w, http.StatusOK, map[string]any{"valid": true, "percent": 10})
}

func (s *Shop) wishlist(w http.ResponseWriter, r *http.Request) {
	if s.is("unhandled_rejection") {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, "<!doctype html><title>Sign in</title><p>Please sign in.") // the browser left
		return
	}
	var ask struct {
		Product int `json:"product"`
	}
	if read(w, r, &ask) {
		reply(w, http.StatusOK, map[string]any{"saved": true, "product": ask.Product})
	}
}

func (s *Shop) checkout(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	}
	if !read(w, r, &ask) {
		return
	}
	if ask.Name == "" || ask.Email == "" {
		reply(w, http.StatusUnprocessableEntity, map[string]string{"error": "name and email are required"})
		return
	}
	s.mu.Lock()
	s.orders++
	order := s.orders
	clear(s.cart)
	s.mu.Unlock()
	reply(w, http.StatusOK, map[string]string{"order": fmt.Sprintf("LT-%04d", order)})
}

// Rates is the second origin. It serves exchange rates that pages of any origin can read.
func (s *Shop) Rates() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rates", func(w http.ResponseWriter, _ *http.Request) {
		if !s.is("cors_blocked") {
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		reply(w, http.StatusOK, map[string]any{"base": "EUR", "rates": map[string]float64{"EUR": 1, "USD": 1.08, "GBP": 0.85, "DKK": 7.46}})
	})
	return mux
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the browser left
}

// read decodes a request's body, or answers with an error and returns false.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(into); err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "the body is not a valid JSON object for this endpoint"})
		return false
	}
	return true
}
