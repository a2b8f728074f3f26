package adverts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import adverts.Adverts.Position;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AdvertsTest {
  @Test
  void decidesAsTheVectorsDo() throws Exception {
    JsonNode document = new ObjectMapper().readTree(new File("../../subscribe/vectors.json"));
    assertTrue(document.path("vectors").size() >= 500);
    for (JsonNode vector : document.path("vectors")) {
      Map<String, Position> applied = new HashMap<>();
      for (JsonNode step : vector.path("steps")) {
        JsonNode message = document.path("messages").path(step.path("message").textValue());
        String expected =
            step.path("outcome").asText() + " " + step.path("code").asText() + " " + step.path("missing").asInt();
        String body = message.isTextual() ? message.textValue() : message.toString();
        assertEquals(expected, decide(applied, body), vector.path("name").asText());
      }
      Map<String, Position> expected = new HashMap<>();
      for (var entry : vector.path("applied").properties())
        expected.put(entry.getKey(), new ObjectMapper().convertValue(entry.getValue(), Position.class));
      assertEquals(expected, applied, vector.path("name").asText());
    }
  }

  /** Decides about one message as a subscriber does. */
  private static String decide(Map<String, Position> applied, String body) {
    try {
      Adverts.Event event = Adverts.parse(body);
      if (event.advertKey() == null) return "apply  0";
      Adverts.Decision decision = Adverts.compare(applied.get(event.advertKey()), event.position());
      if (decision.outcome().equals("apply") || decision.outcome().equals("gap"))
        applied.put(event.advertKey(), event.position());
      return decision.outcome() + "  " + decision.missing();
    } catch (Adverts.RefusedException refused) {
      return "refused " + refused.code + " 0";
    }
  }
}
