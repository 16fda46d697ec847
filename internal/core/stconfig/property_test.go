//muster:test -rapid.checks=20
//muster:test -race=false -rapid.checks=1000
//muster:soak
//muster:soak -race=false -rapid.checks=10000
package stconfig

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

// anyDoc is a configuration: the sample or that of 1.19, with some members gone, some values changed, some fields that
// no version knows.
func anyDoc(t *rapid.T, label string) Value {
	doc := Sample()
	if rapid.Bool().Draw(t, label+" old") {
		doc = oldDoc()
	}
	for i := range rapid.IntRange(0, 6).Draw(t, label+" edits") {
		if edited := anyEdit(t, fmt.Sprint(label, i), doc); wellFormed(edited, configuration) {
			doc = edited
		}
	}
	return doc
}

var oldDoc = sync.OnceValue(func() Value {
	data, err := os.ReadFile("testdata/v1.19.json")
	if err != nil {
		panic(err)
	}
	return mustParse(data)
})

// wellFormed tells whether every identified list names its members, as those of daemons do.
func wellFormed(v Value, s *shape) bool {
	s = fit(s, v)
	if v.Kind() == Array && s.identified() && !s.allNamed(v) {
		return false
	}
	for at := range v.Len() {
		if next := (place{value: v, shape: s}).at(at); !wellFormed(next.value, next.shape) {
			return false
		}
	}
	return true
}

func anyEdit(t *rapid.T, label string, doc Value) Value {
	key := anyKeyOf(t, label, doc)
	if key.IsRoot() || key.Len() == 1 {
		return doc
	}
	switch rapid.IntRange(0, 3).Draw(t, label+" how") {
	case 0: // another value of the same type
		return Replace(doc, key, sameType(t, label, Lookup(doc, key), 3))
	case 1:
		return Replace(doc, key, Value{})
	case 2:
		if parent := Lookup(doc, key.Parent()); parent.Kind() == Object {
			return Replace(doc, key.Parent().Child("unheardOf"), Normalise(anyJSON(t, label, 2))) // no name twice
		}
		return doc
	default: // another member with the same shape
		parent := key.Parent()
		if s := shapeAt(parent); s.identified() && Lookup(doc, key).Kind() == Object {
			id := anyIdentity(t, label, s)
			return Replace(doc, parent.Child(id), Lookup(doc, key).With(s.identity, Text(id)))
		}
		return doc
	}
}

func anyIdentity(t *rapid.T, label string, list *shape) string {
	if list.deviceNamed() {
		return rapid.SampledFrom([]string{own, nas, phone, other}).Draw(t, label+" device")
	}
	return rapid.SampledFrom([]string{"photos-x4kd", "docs-7hq2", "a.b", `qu"ote`, "*", " blank ", "ä/ö%"}).Draw(t,
		label+" id")
}

// anyKeyOf is the key of something in the document.
func anyKeyOf(t *rapid.T, label string, doc Value) Key {
	key, p := Key{}, place{value: doc, shape: configuration}
	for depth := rapid.IntRange(0, 6).Draw(t, label+" depth"); depth > 0; depth-- {
		p.shape = fit(p.shape, p.value)
		if p.value.Len() == 0 || p.value.Kind() == Array && !p.shape.identified() {
			break
		}
		at := rapid.IntRange(0, p.value.Len()-1).Draw(t, label+" member")
		name := p.nameAt(at)
		if p.value.Kind() == Array && name == "" {
			break
		}
		key, p = key.Child(name), p.at(at)
	}
	return key
}

// anyApply is an op as a person may write it: mostly one that fits, else anything.
func anyApply(t *rapid.T, doc Value) (fleet.Op, Key, Value) {
	op := rapid.SampledFrom(ops).Draw(t, "op")
	key := anyKeyOf(t, "key", doc)
	for range 8 { // look for a place that the op is made for
		if fits(op, doc, key) {
			break
		}
		key = anyKeyOf(t, "key", doc)
	}
	key = respelled(t, key)
	return op, key, anyValue(t, doc, op, key)
}

func fits(op fleet.Op, doc Value, key Key) bool {
	switch op {
	case fleet.OpAppend:
		return Lookup(doc, key).Kind() == Array
	case fleet.OpRemove:
		parent := shapeAt(key.Parent())
		return Lookup(doc, key).Kind() == Array || !key.IsRoot() && (parent.identified() || parent.isFree())
	}
	return true
}

// respelled is the key with `*`, in another case, or with one name too many.
func respelled(t *rapid.T, key Key) Key {
	parts := slices.Clone(key.parts)
	for i := 1; i < len(parts); i++ {
		if rapid.IntRange(0, 4).Draw(t, "every") == 0 {
			parts[i] = Part{Name: "*", Every: true}
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "one more") == 0 {
		parts = append(parts, Part{Name: rapid.SampledFrom([]string{"label", "nothing", "keep", "music", other}).Draw(t,
			"extra")})
	}
	text := Key{parts}.String()
	if rapid.Bool().Draw(t, "upper") && !strings.Contains(text, "older") && !strings.Contains(text, "ignores.") {
		text = strings.ToUpper(text) // folder ids are data: their case counts
	}
	parsed, err := ParseKey(text)
	if err != nil {
		return key // `version`, or a name that can be in no list
	}
	return parsed
}

// anyValue is a value for a key: like what is there, a part of it, or anything.
func anyValue(t *rapid.T, doc Value, op fleet.Op, key Key) Value {
	var like Value
	if keys := Expand(doc, key); len(keys) > 0 {
		like = Lookup(doc, keys[0])
	}
	switch rapid.IntRange(0, 9).Draw(t, "value") {
	case 0:
		return anyJSON(t, "any", 3)
	case 1:
		return SecretHandle("secret:x")
	}
	switch list := shapeAt(key); {
	case op == fleet.OpRemove && like.Kind() != Array:
		return Boolean(true)
	case like.Kind() == Array && list.identified() && rapid.Bool().Draw(t, "another member"):
		blank := (&applier{defaults: doc.Get("defaults")}).start(list)
		return List(sameType(t, "new", blank, 4).With(list.identity, Text(anyIdentity(t, "new", list))))
	case like.Kind() == Array && list != nil && list.entry.kind == String && rapid.Bool().Draw(t, "another text"):
		return List(Text("default"), Text("*.tmp"))
	case !like.Exists():
		return anyMember(t, list)
	}
	return sameType(t, "like", like, 4)
}

func anyMember(t *rapid.T, s *shape) Value {
	if s == nil {
		return anyJSON(t, "member", 2)
	}
	return sameType(t, "zero", s.zero(), 4)
}

// sameType is another value of the same type, whose objects may lack members and whose lists may have other ones.
func sameType(t *rapid.T, label string, v Value, depth int) Value {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, label+" same") == 0 {
		return v
	}
	switch v.Kind() {
	case Bool:
		return Boolean(!v.IsTrue())
	case Number:
		return Literal(fmt.Sprint(rapid.Int64Range(-5, 99999).Draw(t, label+" number")))
	case String:
		if canonicalID(v.Str()) != "" {
			return Text(rapid.SampledFrom([]string{own, nas, phone, other}).Draw(t, label+" device"))
		}
		return Text(rapid.SampledFrom([]string{"", "x", "ä\"\\", "photos-x4kd"}).Draw(t, label+" text"))
	case Array:
		var values []Value
		for i, member := range slices.Collect(v.Values()) {
			if rapid.IntRange(0, 3).Draw(t, label+" keep") > 0 {
				values = append(values, sameType(t, fmt.Sprint(label, i), member, depth-1))
			}
		}
		return List(values...)
	case Object:
		if v.Len() == 0 {
			return v
		}
		for i := range rapid.IntRange(0, 3).Draw(t, label+" edits") {
			at := rapid.IntRange(0, v.Len()-1).Draw(t, label+" field")
			v = v.withAt(at, sameType(t, fmt.Sprint(label, i), v.At(at), depth-1))
		}
		switch rapid.IntRange(0, 5).Draw(t, label+" drop") {
		case 0:
			v = v.withoutAt(rapid.IntRange(0, v.Len()-1).Draw(t, label+" gone"))
		case 1: // only one is left
			at := rapid.IntRange(0, v.Len()-1).Draw(t, label+" left")
			v = Obj(Member{v.Name(at), v.At(at)})
		}
	}
	return v
}

func anyJSON(t *rapid.T, label string, depth int) Value {
	switch kind := rapid.IntRange(0, 6).Draw(t, label+" kind"); {
	case kind == 0:
		return NullValue
	case kind == 1:
		return Boolean(rapid.Bool().Draw(t, label+" bool"))
	case kind == 2:
		return Literal(rapid.SampledFrom([]string{"0", "-1", "1.5", "1e400", "12345678901234567890"}).Draw(t,
			label+" number"))
	case kind == 3 || depth == 0:
		return Text(rapid.SampledFrom([]string{"", "id", own, "x"}).Draw(t, label+" text"))
	case kind == 4:
		var values []Value
		for i := range rapid.IntRange(0, 3).Draw(t, label+" len") {
			values = append(values, anyJSON(t, fmt.Sprint(label, i), depth-1))
		}
		return List(values...)
	}
	var members []Member
	for i := range rapid.IntRange(0, 3).Draw(t, label+" len") {
		name := rapid.SampledFrom([]string{"id", "deviceID", "ID", "path", "devices", "params", "version", "new"}).Draw(t,
			label+" name")
		members = append(members, Member{name, anyJSON(t, fmt.Sprint(label, i), depth-1)})
	}
	return Obj(members...)
}

var ops = []fleet.Op{fleet.OpSet, fleet.OpMerge, fleet.OpAppend, fleet.OpRemove}

func TestApplyTwiceIsOnceAndTouchesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := anyDoc(t, "doc")
		op, key, value := anyApply(t, doc)
		checkApply(t, doc, op, key, value)
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkApply holds for every document, op, key and value.
func checkApply(t failer, doc Value, op fleet.Op, key Key, value Value) {
	t.Helper()
	before := string(doc.JSON())
	once, skips, err := Apply(doc, op, key, value, SampleID)
	if string(doc.JSON()) != before {
		t.Fatalf("%s %s %s: the document was changed in place", op, key, value.JSON())
	}
	if err != nil {
		if code := fleet.CodeOf(err); code != fleet.CodeInvalid {
			t.Fatalf("got code %s: %v", code, err)
		}
		if !once.Equal(doc) || len(skips) > 0 {
			t.Fatalf("an error came with a result")
		}
		return
	}
	twice, _, err := Apply(once, op, key, value, SampleID)
	if err != nil || string(twice.JSON()) != string(once.JSON()) {
		t.Fatalf("%s %s %s: twice is not once (%v):\n%s", op, key, value.JSON(), err, diffText(once, twice))
	}
	if where := touched(doc, once, configuration, key.parts); where != "" {
		t.Fatalf("%s %s %s: touched %s", op, key, value.JSON(), where)
	}
}

// touched is the name of something that differs, byte for byte, beside what the rest of a key selects.
func touched(before, after Value, s *shape, rest []Part) string {
	if len(rest) == 0 {
		return ""
	}
	s = fit(s, before)
	p, q := place{value: before, shape: s}, place{value: after, shape: s}
	if before.Kind() == Null && after.Kind() == Array && s != nil {
		return "" // an empty list that has a member now
	}
	if before.Kind() != after.Kind() || before.Kind() != Object && before.Kind() != Array {
		return differs(before, after)
	}
	at, to := p.position(rest[0]), 0
	for i := range before.Len() {
		selected := i == at || rest[0].Every
		switch {
		case selected && after.Len() < before.Len() && len(rest) == 1: // removed
			continue
		case to >= after.Len():
			return "members that are gone"
		case before.Kind() == Object && before.Name(i) != after.Name(to):
			return "the order of members: " + before.Name(i)
		}
		next := rest[1:]
		if !selected {
			if where := differs(before.At(i), after.At(to)); where != "" {
				return where
			}
		} else if where := touched(before.At(i), after.At(to), q.at(to).shape, next); where != "" {
			return where
		}
		to++
	}
	return ""
}

func differs(before, after Value) string {
	if a, b := string(before.JSON()), string(after.JSON()); a != b {
		return a + " is now " + b
	}
	return ""
}

func TestPatchOfADiffGivesTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkDiff(t, anyDoc(t, "from"), anyDoc(t, "to"))
	})
}

func checkDiff(t failer, from, to Value) {
	t.Helper()
	changes := Diff(from, to)
	patched := Patch(from, changes)
	if left := Diff(patched, to); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	if len(Diff(from, from)) > 0 {
		t.Fatalf("a document differs from itself")
	}
	if !slices.IsSortedFunc(changes, func(a, b Change) int { return a.Key.Compare(b.Key) }) {
		t.Fatalf("changes are out of order")
	}
	for _, c := range changes {
		if got := Lookup(from, c.Key); c.From.Exists() != got.Exists() || got.Exists() && !got.Equal(c.From) {
			t.Fatalf("%s: got %s, from %s", c.Key, got.JSON(), c.From.JSON())
		}
	}
}

func TestDiffKeysCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, c := range Diff(anyDoc(t, "from"), anyDoc(t, "to")) {
			if c.Key.IsRoot() || c.Key.At(0).Name == "version" {
				continue
			}
			if got, err := ParseKey(c.Key.String()); err != nil || !got.Equal(c.Key) {
				t.Fatalf("%s: got %s, %v", c.Key, got, err)
			}
		}
	})
}

func TestKeyParsePrintParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := []Part{{Name: rapid.SampledFrom(sections()).Draw(t, "section")}}
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			part := Part{Name: rapid.String().Draw(t, "name")}
			if rapid.IntRange(0, 4).Draw(t, "every") == 0 {
				part = Part{Name: "*", Every: true}
			}
			parts = append(parts, part)
		}
		checkKey(t, Key{parts}.String())
	})
}

func checkKey(t failer, text string) {
	t.Helper()
	key, err := ParseKey(text)
	if err != nil {
		return
	}
	again, err := ParseKey(key.String())
	if err != nil || !again.Equal(key) || again.String() != key.String() {
		t.Fatalf("%q reads as %s, that as %s (%v)", text, key, again, err)
	}
}

func TestNormaliseIsStableAndIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := anyDoc(t, "doc")
		normal := Normalise(doc)
		if again := Normalise(normal); string(again.JSON()) != string(normal.JSON()) {
			t.Fatalf("not stable: %s", diffText(normal, again))
		}
		shuffled := shuffle(t, doc, configuration)
		if Digest(shuffled) != Digest(doc) || len(Diff(doc, shuffled)) > 0 {
			t.Fatalf("order counts: %s", diffText(doc, shuffled))
		}
	})
}

// shuffle reverses, or turns by one, what has no order.
func shuffle(t *rapid.T, v Value, s *shape) Value {
	s = fit(s, v)
	if v.Kind() != Object && (v.Kind() != Array || !s.identified()) {
		return v
	}
	order := make([]int, v.Len())
	for i := range order {
		order[i] = i
	}
	if rapid.Bool().Draw(t, "reverse") {
		slices.Reverse(order)
	} else if len(order) > 1 {
		order = append(order[1:], order[0])
	}
	k := &kids{}
	for _, i := range order {
		next := place{value: v, shape: s}.at(i)
		k.values = append(k.values, shuffle(t, next.value, next.shape))
		if v.Kind() == Object {
			k.names = append(k.names, v.Name(i))
		}
	}
	return Value{kind: v.Kind(), kids: k}
}

// withHandles is the document with a handle "config:KEY" in place of each secret that is not empty.
func withHandles(doc Value) Value {
	r := replacer{secret: func(key Key, _ Value) Value { return SecretHandle(handleOfConfig + key.String()) }}
	return r.value(doc, configuration)
}

func TestSecretsAreMaskedAndConcealed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := anyDoc(t, "doc")
		hidden := Mask(doc)
		concealed := withHandles(doc)
		for _, c := range Diff(doc, hidden) {
			if !SecretKey(c.Key) || c.To.Str() != MaskedSecret {
				t.Fatalf("%s is masked", c.Key)
			}
		}
		for _, secret := range []string{"sample-api-key", "$2a$10$", "sample encryption"} {
			if strings.Contains(string(hidden.JSON()), secret) || strings.Contains(string(concealed.JSON()), secret) {
				t.Fatalf("%s is shown", secret)
			}
		}
		if back, err := ResolveConfig(concealed, doc); err != nil || string(back.JSON()) != string(doc.JSON()) {
			t.Fatalf("got %s, %v", diffText(doc, back), err)
		}
	})
}

func TestPatchIsOneReplaceAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, changes := anyDoc(t, "doc"), Diff(anyDoc(t, "from"), anyDoc(t, "to"))
		want := doc
		for _, c := range changes {
			want = Replace(want, c.Key, c.To)
		}
		if got := Patch(doc, changes); string(got.JSON()) != string(want.JSON()) {
			t.Fatalf("got %s", diffText(want, got))
		}
	})
}

func TestDiffAtIsTheDiffOfWhatStandsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := anyDoc(t, "from"), anyDoc(t, "to")
		key := anyKeyOf(t, "key", from)
		a, b := Lookup(from, key), Lookup(to, key)
		if !b.Exists() {
			return
		}
		got := DiffAt(key, a, b)
		want := Diff(from, Replace(from, key, b))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("at %s: got %v, want %v", key, got, want)
		}
	})
}
