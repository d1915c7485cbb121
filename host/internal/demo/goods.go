package demo

import (
	"fmt"
	"strings"
)

// product is one product of the shop. Prices are in euros.
type product struct {
	ID          int     `json:"id"`
	Name        string  `json:"name"`
	Price       float64 `json:"price"`
	Stock       int     `json:"stock"`
	Image       string  `json:"image"`
	Blurb       string  `json:"blurb"`
	Description string  `json:"description"`
	Size        string  `json:"size"`
	Grams       int     `json:"grams"`
	Care        string  `json:"care"`
}

var goods = []product{
	{
		1, "Harbor Kettle", 68, 14, "/images/kettle.svg", "Enameled steel, whistles in D.",
		"Boils a liter and a half in six minutes and lets the whole house know.", "24 × 19 × 21 cm", 1250, "Rinse, never scour",
	},
	{
		2, "Storm Lantern", 84.5, 6, "/images/lantern.svg", "Burns nine hours in any wind.",
		"The glass is hand-blown and a spare one comes with it, because things fall.", "17 × 17 × 34 cm", 1900, "Trim the wick every evening",
	},
	{
		3, "Tide Mug", 18, 42, "/images/mug.svg", "The glaze shows where low water is.",
		"Thrown and dipped by hand, so that no two waterlines are alike.", "9 × 12 × 10 cm", 380, "Dishwasher",
	},
	{
		4, "Dune Blanket", 96, 9, "/images/blanket.svg", "Undyed wool, two stripes of sea.",
		"Woven from the wool of salt-meadow sheep; heavy enough to stay put.", "140 × 200 cm", 1650, "Air it, wash it rarely",
	},
	{
		5, "Rope Basket", 42, 17, "/images/basket.svg", "Coiled from retired mooring lines.",
		"Carries firewood, laundry, or a cat. Smells of tar for a week.", "38 × 38 × 30 cm", 1400, "Shake out the sand",
	},
	{
		6, "Brass Compass", 54, 11, "/images/compass.svg", "Points north, also indoors.",
		"A dry-card compass in a brass bowl, with a lid that clicks.", "8 × 8 × 3 cm", 290, "Polish it, or let it darken",
	},
	{
		7, "Driftwood Candle", 22.5, 31, "/images/candle.svg", "Cedar, salt, a little smoke.",
		"Poured on a base of found driftwood; burns for some thirty hours.", "20 × 9 × 14 cm", 520, "Keep out of drafts",
	},
	{
		8, "Weather Glass", 128, 4, "/images/glass.svg", "The spout rises before a storm.",
		"A barometer of nothing but glass and water, as hung in ships before there was brass to spare.", "12 × 12 × 26 cm", 1100, "Refill once a year",
	},
}

func findProduct(id int) (product, bool) {
	for _, p := range goods {
		if p.ID == id {
			return p, true
		}
	}
	return product{}, false
}

// matching returns the IDs of the products that match a query.
func matching(query string) []int {
	ids := []int{}
	query = strings.ToLower(query)
	for _, p := range goods {
		if strings.Contains(strings.ToLower(p.Name+" "+p.Blurb), query) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// review is one customer's note.
type review struct {
	Author string `json:"author"`
	Stars  int    `json:"stars"`
	Text   string `json:"text"`
}

const (
	reviewsPerPage = 6
	reviewPages    = 12
)

// reviewsOf returns a page of reviews, numbered from 1. The reviews never change.
func reviewsOf(page int) []review {
	authors := []string{"Anna", "Bente", "Carl", "Dorte", "Emil", "Fiona", "Gustav", "Hanne", "Ivo"}
	places := []string{"Sylt", "Skagen", "Porto", "Hiddensee", "Rømø", "Aveiro", "Amrum"}
	texts := []string{
		"Better than the one it replaced, which lasted thirty years.",
		"Arrived a day early and smelling faintly of the sea.",
		"The neighbors have asked twice where it is from.",
		"I bought a second one for the boat.",
		"Heavier than I thought. I have come to like that.",
		"It does one thing and does it well.",
		"Survived last week's storm without a scratch.",
		"My grandmother says it is just like hers was.",
	}
	list := make([]review, reviewsPerPage)
	for i := range list {
		n := (page-1)*reviewsPerPage + i
		list[i] = review{
			Author: fmt.Sprintf("%s, %s", authors[n%len(authors)], places[n%len(places)]),
			Stars:  5 - n%7/5,
			Text:   texts[n%len(texts)],
		}
	}
	return list
}
