package stconfig

import (
	"strconv"
	"strings"
)

// sameNumber compares two literals by value, exactly.
func sameNumber(a, b string) bool { return canonicalNumber(a) == canonicalNumber(b) }

// longestExpanded is how many zeros a canonical literal is filled with. What is larger or smaller keeps an exponent.
const longestExpanded = 40

// canonicalNumber is the one literal of all that mean the same number: 1 of 1.0, 10e-1 and 0.1E1. It works on the
// digits, so that no exponent, however large, costs anything.
func canonicalNumber(literal string) string {
	if isPlainInteger(literal) {
		return literal
	}
	mantissa, exponentText, hasExponent := cutAny(literal, "eE")
	exponent := int64(0)
	if hasExponent {
		var err error
		if exponent, err = strconv.ParseInt(exponentText, 10, 32); err != nil {
			return literal // no daemon has this number
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

// isPlainInteger tells a literal without fraction and exponent, which is canonical already unless it is -0.
func isPlainInteger(literal string) bool {
	return !strings.ContainsAny(literal, ".eE") && literal != "-0"
}

func cutAny(s, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// scaled is digits times ten to the exponent.
func scaled(digits string, exponent int64) string {
	point := int64(len(digits)) + exponent // digits before the decimal point
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
