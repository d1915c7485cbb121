package hunts

import "fmt"

// EverydayApp is the application of the everyday task.
const EverydayApp = "tally"

// Everyday is what a user does on a usual day, and what each step must bring.
var Everyday = []Step{
	{Open: "/", Expect: `button "Sign in"`},
	{Fill: []Field{{`textbox "E-mail"`, "ada@example.com"}, {`textbox "Password"`, "algebra"}}, Submit: `button "Sign in"`, Expect: "Wrong e-mail or password"},
	{Fill: []Field{{`textbox "Password"`, "calculus"}}, Submit: `button "Sign in"`, Expect: `link "Lunch"`},
	{Fill: []Field{{`slider "At most, in dollars"`, "50"}}, Expect: "$50.00"},
	{Click: `button "Only mine"`, Expect: "pressed"},
	{Click: `button "Like Coffee"`, Expect: "2 likes"},
	{Click: `link "Coffee"`, Expect: `textbox "Comment"`},
	{Fill: []Field{{`textbox "Comment"`, "Was good"}}, Submit: `button "Add comment"`, Expect: "Ada Byron: Was good"},
	{Click: `link "Pay"`, Expect: `combobox "To"`},
	{Fill: []Field{{`combobox "To"`, "Grace Murray"}, {`textbox "Amount"`, "12.50"}, {`textbox "Note"`, "Tea"}}, Submit: `button "Pay now"`, Expect: "You paid Grace Murray $12.50"},
	{Click: `link "Notifications`, Expect: `button "Dismiss Grace`},
	{Click: `button "Dismiss Grace`, Expect: "1 dismissed"},
	{Click: `link "Profile"`, Expect: `textbox "Phone"`},
	{Fill: []Field{{`textbox "Name"`, "Ada Lovelace"}, {`textbox "Phone"`, "555-0199"}}, Submit: `button "Save"`, Expect: "Your profile is saved"},
	{Click: `link "Payments"`, Expect: `link "Tea"`},
	{Click: `button "Sign out"`, Expect: `button "Sign in"`},
}

// everyday has an agent do the everyday task. Every call counts.
func (a *agent) everyday(t *Task) error {
	for i := range Everyday {
		before := len(a.told)
		if Everyday[i].Open != "" {
			before = 0 // what was told of the page before is forgotten
		}
		_, err := a.do(&Everyday[i])
		for _, got := range a.told[before:] {
			t.Calls++
			t.Tokens += got.tokens
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}
