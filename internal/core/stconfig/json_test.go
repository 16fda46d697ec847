package stconfig

import (
	"bytes"
	"strings"
	"testing"
)

// Digests that were kept hold for what is written piece by piece.
func TestWrittenInPiecesItIsTheSameJSON(t *testing.T) {
	values := []Value{Sample(), {}, NullValue, List(), Obj(), SecretHandle("secret:x"), Literal("1e400")}
	for _, n := range []int{0, 1, pieceSize - 2, pieceSize - 1, pieceSize, pieceSize + 1, 3*pieceSize + 7} {
		for _, unit := range []string{"a", "é", "€", "😀", "\"", "\x01", "\xff", "a\xe2\x82"} {
			text := strings.Repeat(unit, n)
			values = append(values, Text(text), Text("x"+text), List(Text(text), Obj(Member{text, Text(text)})))
		}
	}
	for _, v := range values {
		var got bytes.Buffer
		v.WriteJSON(&got)
		if want := v.JSON(); !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%.40q… became %.40q…", want, got.Bytes())
		}
	}
}
