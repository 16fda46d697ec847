package sandbox

import (
	"container/list"
	"sync"
)

// cache keeps the values that were used last, up to a number of bytes.
type cache[K comparable, V any] struct {
	most int64

	mu    sync.Mutex // guards the rest
	used  int64
	items map[K]*list.Element
	order *list.List // elements are *item[K, V]; the front was used last
}

type item[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

func newCache[K comparable, V any](most int64) *cache[K, V] {
	return &cache[K, V]{most: most, items: map[K]*list.Element{}, order: list.New()}
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item[K, V]).value, true
}

// put keeps a value, unless it would push out more than half of the others.
func (c *cache[K, V]) put(key K, value V, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[key]; e != nil {
		c.drop(e)
	}
	if size > c.most/2 {
		return
	}
	c.items[key] = c.order.PushFront(&item[K, V]{key, value, size})
	c.used += size
	for c.used > c.most {
		c.drop(c.order.Back())
	}
}

func (c *cache[K, V]) drop(e *list.Element) {
	old := c.order.Remove(e).(*item[K, V])
	delete(c.items, old.key)
	c.used -= old.size
}
