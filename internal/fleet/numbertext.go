package fleet

import "strconv"

// NumberText returns a number in the form that people read: "8,860".
func NumberText[N ~int | ~int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	first := len(digits) % 3
	if n < 0 {
		first = (len(digits)-1)%3 + 1
	}
	text := digits[:first]
	for at := first; at < len(digits); at += 3 {
		if at > 0 && digits[at-1] != '-' {
			text += ","
		}
		text += digits[at : at+3]
	}
	return text
}

// Counted returns a number of things: "1 item", "8,860 items".
func Counted[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return NumberText(n) + " " + many
}
