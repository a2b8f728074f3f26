// Package adverts reads the events of Advert Bridge and decides which to apply. Copy it: it needs nothing else.
package adverts

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Position of an event in the history of its advert.
type Position struct {
	Generation int64 `json:"generation"`
	Sequence   int64 `json:"sequence"`
}

// Event is what a subscriber uses of an event. AdvertKey is empty for an event about the authorization.
type Event struct {
	DetailType string
	AdvertKey  string
	AdvertID   string
	Status     *string // nil: the advert is unavailable.
	Position   Position
}

// RefusedError says why a message belongs in the dead-letter queue.
type RefusedError struct{ Code string }

func (e RefusedError) Error() string { return "refused: " + e.Code }

type fields struct {
	Source     string   `json:"source"`
	DetailType string   `json:"detail-type"`
	Time       string   `json:"time"`
	Resources  []string `json:"resources"`
	Detail     struct {
		Metadata struct {
			EventID        *string `json:"eventId"`
			Bridge         *string `json:"bridge"`
			PartnerAccount string  `json:"partnerAccount"`
			Generation     int64   `json:"generation"`
			Sequence       int64   `json:"sequence"`
			ListedAt       string  `json:"listedAt"`
			ObservedAt     string  `json:"observedAt"`
			Cause          string  `json:"cause"`
			CorrelationID  *string `json:"correlationId"`
		} `json:"metadata"`
		Data struct {
			AdvertID       string          `json:"advertId"`
			Status         json.RawMessage `json:"status"`
			PreviousStatus json.RawMessage `json:"previousStatus"`
			Reason         *string         `json:"reason"`
		} `json:"data"`
	} `json:"detail"`
}

var (
	versions   = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}$`)
	types      = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	bridges    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)
	accounts   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	advertIDs  = regexp.MustCompile(`^[0-9]{1,20}$`)
	invalid    = RefusedError{"not-an-event"}
	isOfAdvert = map[string]bool{
		"AdvertStatusChanged": true, "AdvertUnavailable": true,
		"PartnerAuthorizationRequired": false, "PartnerAuthorizationRestored": false,
	}
)

// Parse reads the body of an SQS message that a rule sent. Its error is a RefusedError.
func Parse(body string) (*Event, error) {
	// Source, type and version first: another major version may have another shape.
	var head struct {
		Source     string `json:"source"`
		DetailType string `json:"detail-type"`
		Detail     struct {
			Metadata struct {
				SchemaVersion string `json:"schemaVersion"`
			} `json:"metadata"`
		} `json:"detail"`
	}
	if json.Unmarshal([]byte(body), &head) != nil || head.Source != "advert-bridge" {
		return nil, invalid
	}
	version := head.Detail.Metadata.SchemaVersion
	if !types.MatchString(head.DetailType) || !versions.MatchString(version) {
		return nil, invalid
	}
	if strings.Split(version, ".")[0] != "1" {
		return nil, RefusedError{"unsupported-version"}
	}
	ofAdvert, known := isOfAdvert[head.DetailType]
	if !known {
		return nil, RefusedError{"unknown-detail-type"}
	}
	var f fields
	if json.Unmarshal([]byte(body), &f) != nil || f.Resources == nil {
		return nil, invalid
	}
	metadata, data := f.Detail.Metadata, f.Detail.Data
	bridge := "AdvertBridge" // Of an event from before schema version 1.1, which does not name it.
	if metadata.Bridge != nil {
		bridge = *metadata.Bridge
	}
	ok := metadata.EventID != nil && bridges.MatchString(bridge) && accounts.MatchString(metadata.PartnerAccount) &&
		isPosition(metadata.Generation) && isTime(f.Time) && isTime(metadata.ObservedAt)
	if !ofAdvert {
		if !ok || data.Reason == nil {
			return nil, invalid
		}
		return &Event{DetailType: f.DetailType}, nil
	}
	status, statusOK := statusOf(data.Status)
	_, previousOK := statusOf(data.PreviousStatus)
	ok = ok && isPosition(metadata.Sequence) && isTime(metadata.ListedAt) && metadata.Cause != "" &&
		metadata.CorrelationID != nil && advertIDs.MatchString(data.AdvertID) && statusOK && previousOK &&
		(status == nil) == (f.DetailType == "AdvertUnavailable")
	if !ok {
		return nil, invalid
	}
	key := metadata.PartnerAccount + "/" + data.AdvertID
	if bridge != "AdvertBridge" {
		key = bridge + "/" + key
	}
	return &Event{f.DetailType, key, data.AdvertID, status, Position{metadata.Generation, metadata.Sequence}}, nil
}

func isPosition(number int64) bool { return number >= 1 && number < 1<<53 }

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil && strings.HasSuffix(text, "Z")
}

// statusOf returns nil for null; false for what is missing or no status.
func statusOf(raw json.RawMessage) (*string, bool) {
	if string(raw) == "null" {
		return nil, true
	}
	var text string
	if raw == nil || json.Unmarshal(raw, &text) != nil || !utf8.ValidString(text) {
		return nil, false
	}
	length := len(utf16.Encode([]rune(text)))
	return &text, length >= 1 && length <= 256
}

// Compare says what to do with an event: "apply", "gap" (apply it; so many before it have not arrived), "duplicate" or
// "stale". applied is the position of the advert's last applied event, nil if there is none.
func Compare(applied *Position, next Position) (outcome string, missing int64) {
	if applied == nil {
		return "apply", 0
	}
	if next == *applied {
		return "duplicate", 0
	}
	before := int64(0)
	if next.Generation == applied.Generation {
		before = applied.Sequence
	}
	if next.Generation < applied.Generation || next.Sequence < before {
		return "stale", 0
	}
	if missing = next.Sequence - 1 - before; missing > 0 {
		return "gap", missing
	}
	return "apply", 0
}
