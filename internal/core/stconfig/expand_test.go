package stconfig

import "slices"

// Expand gives the keys without `*` that a key stands for in this document, in the document's order. The members of a
// plain list have no keys: a key that ends in `*` there stands for the list.
func Expand(doc Value, key Key) []Key {
	e := expander{key: key}
	e.expand(place{value: doc, shape: configuration}, 0)
	return e.keys
}

type expander struct {
	key  Key
	path []Part
	keys []Key
}

func (e *expander) expand(p place, i int) {
	if i == e.key.Len() {
		e.keys = append(e.keys, Key{slices.Clone(e.path)})
		return
	}
	part := e.key.At(i)
	at := p.position(part)
	switch {
	case at >= 0:
		e.descend(p, part.Name, at, i)
	case !part.Every:
	case p.value.kind == Array && !p.shape.identified():
		if i == e.key.Len()-1 {
			e.keys = append(e.keys, Key{slices.Clone(e.path)})
		}
	default:
		for at := range p.value.Len() {
			e.descend(p, p.nameAt(at), at, i)
		}
	}
}

func (e *expander) descend(p place, name string, at, i int) {
	e.path = append(e.path, Part{Name: name})
	e.expand(p.at(at), i+1)
	e.path = e.path[:len(e.path)-1]
}
