package syncthing

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

const (
	maxItems     = 100      // items whose path and text are kept
	maxItemsKept = 16 << 10 // bytes of all paths and texts together
	maxItemPath  = 1 << 10  // bytes
	maxItemText  = 300      // bytes
)

// parseFailedItems returns the first of the items that a folder could not sync, and the number of all items. There may
// be hundreds of thousands.
func parseFailedItems(list []byte) (items []fleet.FailedItem, count int64, err error) {
	if len(list) == 0 {
		return nil, 0, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if kind := dec.PeekKind(); kind != '[' && kind != 'n' {
		return nil, 0, fmt.Errorf("%s where a list of errors is expected", kind)
	}
	_, err = dec.ReadToken()
	size := 0
	for ; err == nil && dec.StackDepth() > 0 && dec.PeekKind() != ']'; count++ {
		if count >= maxItems || size >= maxItemsKept {
			err = dec.SkipValue()
			continue
		}
		var item fleet.FailedItem
		if item, err = parseFailedItem(dec); err != nil {
			break
		}
		if size += item.Size(); size <= maxItemsKept {
			items = append(items, item)
		}
	}
	return items, count, err
}

func parseFailedItem(dec *jsontext.Decoder) (fleet.FailedItem, error) {
	value, err := dec.ReadValue()
	if err != nil {
		return fleet.FailedItem{}, err
	}
	var item struct {
		Path  string `json:"path"`
		Error string `json:"error"`
	}
	err = json.Unmarshal(value, &item)
	return fleet.FailedItem{Path: shortText(item.Path, maxItemPath), Text: shortText(item.Error, maxItemText)}, err
}
