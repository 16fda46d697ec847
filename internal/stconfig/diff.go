package stconfig

// Change is one difference between two documents.
type Change struct {
	Key  Key
	From Value // Absent: not there before
	To   Value // Absent: not there any more
}

// Diff says what leads from one document to another, ordered by key. A member of an identified list is named by its
// identity: a new or removed one is one change, a moved one none. Plain lists are one change as a whole.
func Diff(from, to Value) []Change { panic("being written") }

// Patch is the document with the changes of a Diff done.
func Patch(doc Value, changes []Change) Value { panic("being written") }

// Lookup is the value at a key without `*`; Absent when there is none.
func Lookup(doc Value, key Key) Value { panic("being written") }

// Replace is the document with that value at the key, whatever was there; Absent removes it. A member of an identified
// list is added when it is new; nothing changes where a parent is missing.
func Replace(doc Value, key Key, value Value) Value { panic("being written") }

// Expand gives the keys without `*` that a key stands for in this document.
func Expand(doc Value, key Key) []Key { panic("being written") }
