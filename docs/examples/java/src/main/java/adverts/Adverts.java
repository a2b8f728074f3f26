package adverts;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Map;

/** Reads the events of Advert Bridge and decides which to apply. Copy this file: it needs only jackson-databind. */
public final class Adverts {
  /** Position of an event in the history of its advert. */
  public record Position(long generation, long sequence) {}

  /** What a subscriber uses of an event. Of an event about the authorization, only the type is not null. */
  public record Event(String detailType, String advertKey, String advertId, String status, Position position) {}

  /** What to do with an event: "apply", "gap" (apply it; `missing` before it did not arrive), "duplicate" or "stale". */
  public record Decision(String outcome, long missing) {}

  /** The message belongs in the dead-letter queue, with this code. */
  public static final class RefusedException extends Exception {
    public final String code;

    RefusedException(String code) {
      super("refused: " + code);
      this.code = code;
    }
  }

  private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final Map<String, Boolean> IS_OF_ADVERT =
      Map.of("AdvertStatusChanged", true, "AdvertUnavailable", true,
          "PartnerAuthorizationRequired", false, "PartnerAuthorizationRestored", false);

  private Adverts() {}

  /** @param body of an SQS message that a rule sent */
  public static Event parse(String body) throws RefusedException {
    JsonNode event;
    try {
      event = JSON.readTree(body);
    } catch (JsonProcessingException notJson) {
      throw new RefusedException("not-an-event");
    }
    JsonNode metadata = event.path("detail").path("metadata");
    JsonNode data = event.path("detail").path("data");
    // Source, type and version first: another major version may have another shape.
    String type = event.path("detail-type").asText();
    String version = metadata.path("schemaVersion").asText();
    require(event.path("source").asText().equals("advert-bridge")
        && matches(event.path("detail-type"), "[A-Za-z0-9_.-]{1,128}")
        && matches(metadata.path("schemaVersion"), "[0-9]{1,9}\\.[0-9]{1,9}"));
    if (!version.startsWith("1.")) throw new RefusedException("unsupported-version");
    if (!IS_OF_ADVERT.containsKey(type)) throw new RefusedException("unknown-detail-type");

    // An event from before schema version 1.1 does not name its bridge.
    String bridge = metadata.path("bridge").asText("AdvertBridge");
    require(event.path("resources").isArray() && isTime(event.path("time")) && isTime(metadata.path("observedAt"))
        && metadata.path("eventId").isTextual() && isPosition(metadata.path("generation"))
        && (!metadata.has("bridge") || matches(metadata.path("bridge"), "[A-Za-z][A-Za-z0-9-]{0,63}"))
        && matches(metadata.path("partnerAccount"), "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"));
    if (!IS_OF_ADVERT.get(type)) {
      require(data.path("reason").isTextual());
      return new Event(type, null, null, null, null);
    }
    require(isPosition(metadata.path("sequence")) && isTime(metadata.path("listedAt"))
        && isText(metadata.path("cause")) && metadata.path("correlationId").isTextual()
        && matches(data.path("advertId"), "[0-9]{1,20}")
        && isStatus(data.path("status")) && isStatus(data.path("previousStatus"))
        && data.path("status").isNull() == type.equals("AdvertUnavailable"));
    String key = metadata.path("partnerAccount").asText() + "/" + data.path("advertId").asText();
    return new Event(type, bridge.equals("AdvertBridge") ? key : bridge + "/" + key, data.path("advertId").asText(),
        data.path("status").textValue(),
        new Position(metadata.path("generation").longValue(), metadata.path("sequence").longValue()));
  }

  /** @param applied the position of the advert's last applied event, or null */
  public static Decision compare(Position applied, Position next) {
    if (next.equals(applied)) return new Decision("duplicate", 0);
    boolean goesOn = applied != null && next.generation() == applied.generation();
    long before = goesOn ? applied.sequence() : 0;
    if (applied != null && next.generation() < applied.generation() || next.sequence() < before)
      return new Decision("stale", 0);
    // Nothing is missing for one who begins now.
    long missing = applied == null ? 0 : next.sequence() - 1 - before;
    return new Decision(missing > 0 ? "gap" : "apply", missing);
  }

  private static void require(boolean holds) throws RefusedException {
    if (!holds) throw new RefusedException("not-an-event");
  }

  private static boolean isText(JsonNode node) {
    return node.isTextual() && !node.textValue().isEmpty();
  }

  private static boolean matches(JsonNode node, String pattern) {
    return node.isTextual() && node.textValue().matches(pattern);
  }

  private static boolean isPosition(JsonNode node) {
    return node.isIntegralNumber() && node.canConvertToLong() && node.longValue() >= 1 && node.longValue() < 1L << 53;
  }

  private static boolean isTime(JsonNode node) {
    try {
      return node.isTextual() && node.textValue().endsWith("Z") && Instant.parse(node.textValue()) != null;
    } catch (DateTimeException noTime) {
      return false;
    }
  }

  private static boolean isStatus(JsonNode node) {
    return node.isNull() || isText(node) && node.textValue().length() <= 256;
  }
}
