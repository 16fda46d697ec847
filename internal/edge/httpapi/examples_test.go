package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// A client that is made from the document sends what its examples show.
func TestTheExamplesOfTheDocumentAreOfTheirTypes(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			ID          string `json:"operationId"`
			RequestBody struct {
				Content map[string]struct {
					Example json.RawMessage `json:"example"`
				} `json:"content"`
			} `json:"requestBody"`
			Responses map[string]struct {
				Content map[string]struct {
					Example json.RawMessage `json:"example"`
				} `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(OpenAPIDocument(), &doc); err != nil {
		t.Fatal(err)
	}
	types := map[string]route{}
	for _, rt := range newWorld(t).api.routes {
		types[rt.name] = rt
	}
	checked := 0
	check := func(id string, example json.RawMessage, of reflect.Type) {
		checked++
		decoder := json.NewDecoder(bytes.NewReader(example))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(reflect.New(of).Interface()); err != nil {
			t.Errorf("%s: the example %s is no %v: %v", id, example, of, err)
		}
	}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if body, ok := op.RequestBody.Content["application/json"]; ok {
				check(op.ID, body.Example, types[op.ID].body)
			}
			for status, response := range op.Responses {
				if body, ok := response.Content["application/json"]; ok && status < "300" {
					check(op.ID, body.Example, types[op.ID].reply)
				}
			}
		}
	}
	if checked < 120 {
		t.Errorf("only %d examples", checked)
	}
}
