// A receiver of webhooks on plain Go (1.20 or later), without dependencies:
//
//	PORT=3000 WEBHOOK_SECRET=whsec_… go run receiver.go
//
// It listens on loopback in plain HTTP. A reverse proxy in front of it does TLS: endpoints are registered as https.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance   = 5 * time.Minute
	largestBody = 1 << 20 // a limit of this receiver, so that a stranger cannot fill its memory
)

func keyOf(secret string) ([]byte, error) {
	encoded, found := strings.CutPrefix(secret, "whsec_")
	if !found {
		return nil, errors.New("WEBHOOK_SECRET must be the secret of the endpoint, which begins with whsec_")
	}
	return base64.StdEncoding.DecodeString(encoded)
}

// isGenuine says whether the raw body has a valid signature whose timestamp is at most 5 minutes away from this clock.
func isGenuine(key []byte, header http.Header, rawBody []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil || id == "" {
		return false
	}
	if age := time.Since(time.Unix(int64(seconds), 0)); age > tolerance || age < -tolerance {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(rawBody)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, signature := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(signature), expected) {
			return true
		}
	}
	return false
}

type event struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	OccurredAt time.Time       `json:"occurred_at"`
	ClubID     string          `json:"club_id"`
	Data       json.RawMessage `json:"data"`
}

// In production, replace the two fields by one table with a unique column for the id: insert the message, then answer. A
// process that dies after its answer loses its memory, and the service does not send an accepted message again.
type inbox struct {
	mutex  sync.Mutex
	known  map[string]bool
	events chan event
}

// keep stores a message, to handle it after the answer. It ignores a message whose id is known. It returns false if the queue
// is full.
func (in *inbox) keep(id string, message event) bool {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	if in.known[id] {
		return true
	}
	select {
	case in.events <- message:
		in.known[id] = true
		return true
	default:
		return false
	}
}

// handle is the function for your own work. Unknown types and webhook.test need only the answer.
func handle(message event) {
	fmt.Println("handled", message.ID, message.Type)
}

func receiver(key []byte, in *inbox) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			response.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		rawBody, err := io.ReadAll(http.MaxBytesReader(response, request.Body, largestBody))
		if err != nil {
			response.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if !isGenuine(key, request.Header, rawBody) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		var message event
		if json.Unmarshal(rawBody, &message) != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		if !in.keep(request.Header.Get("webhook-id"), message) {
			response.Header().Set("Retry-After", "60")
			response.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		response.WriteHeader(http.StatusNoContent)
	}
}

func main() {
	key, err := keyOf(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	in := &inbox{known: map[string]bool{}, events: make(chan event, 1000)}
	go func() {
		for message := range in.events {
			handle(message)
		}
	}()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: receiver(key, in), ReadTimeout: 20 * time.Second}
	log.Fatal(server.Serve(listener))
}
