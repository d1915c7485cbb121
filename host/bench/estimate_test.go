package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/tokens"
)

var update = flag.Bool("update", false, "fit the costs of package tokens to the recorded answers and write them")

// recorded reads the answers that -answers wrote: those by which costs are fitted, and those held out.
func recorded(t *testing.T) (fitted, heldOut []answer) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		if hashOf(a.Text)%3 == 0 {
			heldOut = append(heldOut, a)
		} else {
			fitted = append(fitted, a)
		}
	}
	return fitted, heldOut
}

// TestEstimatesAreThoseOfTheTokenizer: within 3 % on the sum of the bench's answers and 10 % on each, fitted or not.
func TestEstimatesAreThoseOfTheTokenizer(t *testing.T) {
	count := newCounter()
	fitted, heldOut := recorded(t)
	if *update {
		if err := writeCosts(fit(fitted, count)); err != nil {
			t.Fatal(err)
		}
		t.Skip("wrote the costs; run the test again")
	}
	for _, of := range []struct {
		name    string
		answers []answer
	}{{"fitted", fitted}, {"held out", heldOut}} {
		if len(of.answers) < 50 {
			t.Fatalf("only %d answers are %s", len(of.answers), of.name)
		}
		estimated, exact, worst := 0, 0, 0.0
		for _, a := range of.answers {
			got, want := tokens.Estimate(a.Text), count.tokens(a.Text)
			estimated, exact = estimated+got, exact+want
			// Rounding alone is more than 10 % of an answer of a few words.
			if off := float64(max(got, want) - min(got, want)); off > max(2, float64(want)/10) {
				t.Errorf("%s, %s: %d tokens, estimated %d: %.300s", of.name, a.Tool, want, got, a.Text)
			} else if want > 20 {
				worst = max(worst, off/float64(want))
			}
		}
		share := float64(estimated)/float64(exact) - 1
		t.Logf("%s: %d answers, %d tokens, %+.2f %% on the sum, at most %.1f %% on one", of.name, len(of.answers), exact, 100*share, 100*worst)
		if share < -.03 || share > .03 {
			t.Errorf("the estimate of %s answers is %d tokens, %+.1f %% of %d", of.name, estimated, 100*share, exact)
		}
	}
}

// TestEstimatesOfOtherLanguages: an estimate is useful for any language, though hardly any answer shows it.
func TestEstimatesOfOtherLanguages(t *testing.T) {
	count := newCounter()
	for _, text := range []string{
		"Die Bestellung konnte nicht übermittelt werden, weil die Größe fehlt. Bitte prüfen Sie Ihre Eingabe und versuchen Sie es später erneut.",
		"La commande n'a pas pu être envoyée : l'adresse est incomplète. Vérifiez les champs signalés, puis réessayez plus tard.",
		"Zamówienie nie zostało wysłane, ponieważ brakuje numeru telefonu. Sprawdź pola i spróbuj ponownie później.",
		"Не удалось отправить заказ: адрес заполнен не полностью. Проверьте отмеченные поля и повторите попытку позже.",
		"Η παραγγελία δεν μπόρεσε να σταλεί επειδή η διεύθυνση δεν είναι πλήρης. Ελέγξτε τα πεδία.",
		"לא ניתן היה לשלוח את ההזמנה כי הכתובת אינה מלאה. בדקו את השדות ונסו שוב מאוחר יותר.",
		"تعذر إرسال الطلب لأن العنوان غير مكتمل. يرجى التحقق من الحقول والمحاولة مرة أخرى لاحقًا.",
		"ऑर्डर नहीं भेजा जा सका क्योंकि पता अधूरा है। कृपया फ़ील्ड जाँचें और बाद में पुनः प्रयास करें।",
		"ไม่สามารถส่งคำสั่งซื้อได้เนื่องจากที่อยู่ไม่ครบถ้วน กรุณาตรวจสอบและลองใหม่อีกครั้ง",
		"由于地址不完整，无法提交订单。请检查标记的字段，然后稍后再试。",
		"由於地址不完整，無法提交訂單。請檢查標記的欄位，然後稍後再試。您的購物車目前是空的，請先選擇商品。",
		"Máy chủ tạm thời không phản hồi. Vui lòng liên hệ bộ phận hỗ trợ khách hàng. Giỏ hàng của bạn đang trống.",
		"Server dočasně neodpovídá. Kontaktujte prosím zákaznickou podporu. Váš nákupní košík je prázdný.",
		"Sunucu geçici olarak yanıt vermiyor. Lütfen müşteri hizmetleriyle iletişime geçin. Sepetiniz şu anda boş.",
		"住所が不完全なため、注文を送信できませんでした。入力内容を確認して、後でもう一度お試しください。",
		"주소가 완전하지 않아 주문을 보낼 수 없습니다. 표시된 입력란을 확인한 후 나중에 다시 시도하세요.",
		"🎉 🚀 ✅ ❌ 🔥 💥 😀 🛒",
	} {
		got, want := tokens.Estimate(text), count.tokens(text)
		t.Logf("%d estimated %d %.20s", want, got, text)
		if off := float64(max(got, want)-min(got, want)) / float64(want); off > .25 {
			t.Errorf("%d tokens, estimated %d: %s", want, got, text)
		}
	}
}

// TestEstimatesOfRandomText: hashes and keys are within a tenth, which words' costs would miss by a third.
func TestEstimatesOfRandomText(t *testing.T) {
	count := newCounter()
	text := randomText()
	list := strings.Split(text, "\n")
	for i, what := range []string{"keys", "hashes"} {
		var of []string
		for j := i; j < 60; j += 2 {
			of = append(of, list[j])
		}
		quoted, _ := json.Marshal(of)
		got, want := tokens.Estimate(quoted), count.tokens(string(quoted))
		t.Logf("%s: %d estimated %d", what, want, got)
		if off := float64(max(got, want)-min(got, want)) / float64(want); off > .1 {
			t.Errorf("%d tokens of %s, estimated %d", want, what, got)
		}
	}
}

type costs [tokens.Classes][tokens.MaxLength + 1]float64

// fit returns the average cost of pieces by class and length. A class that few answers have at a length costs there about
// what it costs at the length before.
func fit(answers []answer, count counter) (fitted costs) {
	const (
		few   = 8  // pieces that the cost before counts as
		slope = .1 // what one more letter adds
	)
	var sum, number costs
	known := map[string]int{}
	answers = append(slices.Clone(answers), answer{Text: randomText()})
	for _, a := range answers {
		for _, p := range tokens.Pieces(a.Text) {
			n, ok := known[p.Text]
			if !ok {
				n = count.tokens(p.Text)
				known[p.Text] = n
			}
			sum[p.Class][p.Length] += float64(n)
			number[p.Class][p.Length]++
		}
	}
	for class := range fitted {
		before := 1 - slope
		for n := range fitted[class] {
			expected := before
			if n > 0 {
				expected += slope
			}
			before = (sum[class][n] + few*expected) / (number[class][n] + few)
			fitted[class][n] = before
		}
	}
	return fitted
}

// randomText has keys and hashes, which answers have too few of. It is always the same.
func randomText() string {
	r := rand.New(rand.NewChaCha8([32]byte{18}))
	var b strings.Builder
	for i := range 400 {
		data := make([]byte, 32)
		for j := range data {
			data[j] = byte(r.IntN(256))
		}
		if i%2 == 0 {
			b.WriteString(base64.RawURLEncoding.EncodeToString(data) + "\n")
		} else {
			fmt.Fprintf(&b, "%x\n", data)
		}
	}
	return b.String()
}

// writeCosts writes the costs into package tokens.
func writeCosts(c costs) error {
	var b bytes.Buffer
	b.WriteString("// Code generated by `go test ./host/bench -run Estimates -update`. DO NOT EDIT.\n\npackage tokens\n\n")
	b.WriteString("// Costs are the average costs of pieces, in hundredths of a token, by class and length.\n")
	b.WriteString("var Costs = [Classes][MaxLength + 1]uint16{\n")
	for _, class := range c {
		b.WriteString("{")
		for i, cost := range class {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%.0f", 100*cost)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	data, err := format.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("..", "internal", "tokens", "costs.go"), data, 0o600)
}
