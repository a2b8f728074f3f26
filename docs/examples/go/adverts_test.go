package adverts

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"
)

type step struct {
	Message string `json:"message"`
	Outcome string `json:"outcome"`
	Missing int64  `json:"missing"`
	Code    string `json:"code"`
}

// Decides about one message as a subscriber does.
func decide(applied map[string]Position, body string) step {
	event, err := Parse(body)
	var refused RefusedError
	if errors.As(err, &refused) {
		return step{Outcome: "refused", Code: refused.Code}
	}
	if event.AdvertKey == "" {
		return step{Outcome: "apply"}
	}
	var last *Position
	if position, found := applied[event.AdvertKey]; found {
		last = &position
	}
	outcome, missing := Compare(last, event.Position)
	if outcome == "apply" || outcome == "gap" {
		applied[event.AdvertKey] = event.Position
	}
	return step{Outcome: outcome, Missing: missing}
}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../subscribe/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Messages map[string]json.RawMessage
		Vectors  []struct {
			Name    string
			Steps   []step
			Applied map[string]Position
		}
	}
	if err := json.Unmarshal(text, &document); err != nil || len(document.Vectors) < 500 {
		t.Fatalf("%d vectors, %v", len(document.Vectors), err)
	}
	for _, vector := range document.Vectors {
		applied := map[string]Position{}
		for _, expected := range vector.Steps {
			message := document.Messages[expected.Message]
			var body string
			if json.Unmarshal(message, &body) != nil {
				body = string(message)
			}
			decided := decide(applied, body)
			decided.Message = expected.Message
			if decided != expected {
				t.Errorf("%s: %+v, expected %+v", vector.Name, decided, expected)
			}
		}
		if !reflect.DeepEqual(applied, vector.Applied) {
			t.Errorf("%s: %v, expected %v", vector.Name, applied, vector.Applied)
		}
	}
}
