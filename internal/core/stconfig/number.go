package stconfig

import (
	"strconv"
	"strings"
)

// sameNumber compares two literals by exact value.
func sameNumber(a, b string) bool { return canonicalNumber(a) == canonicalNumber(b) }

// longestExpanded is the largest number of zeros in a canonical literal. Larger and smaller numbers keep an exponent.
const longestExpanded = 40

// canonicalNumber returns one literal for all literals of a number: 1 for 1.0, 10e-1 and 0.1E1. It works on the digits,
// so a large exponent costs nothing.
func canonicalNumber(literal string) string {
	if isPlainInteger(literal) {
		return literal
	}
	mantissa, exponentText, hasExponent := cutAny(literal, "eE")
	exponent := int64(0)
	if hasExponent {
		var err error
		if exponent, err = strconv.ParseInt(exponentText, 10, 32); err != nil {
			return literal // No daemon writes such a number.
		}
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	before, after, _ := strings.Cut(digits, ".")
	exponent -= int64(len(after))
	digits = strings.TrimLeft(before+after, "0")
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant))
	if significant == "" {
		return "0"
	}
	text := scaled(significant, exponent)
	if negative {
		return "-" + text
	}
	return text
}

// isPlainInteger reports whether a literal has neither fraction nor exponent. Such a literal is canonical, except -0.
func isPlainInteger(literal string) bool {
	return !strings.ContainsAny(literal, ".eE") && literal != "-0"
}

func cutAny(s, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// scaled returns the literal of digits times ten to the exponent.
func scaled(digits string, exponent int64) string {
	point := int64(len(digits)) + exponent // number of digits before the decimal point
	switch {
	case exponent > longestExpanded || point < -longestExpanded:
		return digits + "e" + strconv.FormatInt(exponent, 10)
	case exponent >= 0:
		return digits + strings.Repeat("0", int(exponent))
	case point > 0:
		return digits[:point] + "." + digits[point:]
	}
	return "0." + strings.Repeat("0", int(-point)) + digits
}
