PRAGMA application_id = 1097089650;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  envelope TEXT NOT NULL,
  reader TEXT
) STRICT;
INSERT INTO "events" VALUES(1,1795482405948,'{"source":"advert-bridge","detail-type":"AdvertStatusChanged","time":"2026-11-24T01:06:45Z","resources":["advert-bridge/main/advert/1005"],"detail":{"metadata":{"eventId":"main/1795482405/1005/1","schemaVersion":"1.1","bridge":"AdvertBridge","partnerAccount":"main","generation":1795482405,"sequence":1,"listedAt":"2026-11-24T01:06:45.855Z","observedAt":"2026-11-24T01:06:45.947Z","cause":"feed","correlationId":"4cd2702dfe1946cd9ed4f94c6ccdac66"},"data":{"advertId":"1005","status":"new","previousStatus":null}}}',NULL);
INSERT INTO "events" VALUES(2,1795482406052,'{"source":"advert-bridge","detail-type":"AdvertStatusChanged","time":"2026-11-24T01:06:46Z","resources":["advert-bridge/main/advert/1006"],"detail":{"metadata":{"eventId":"main/1795482405/1006/1","schemaVersion":"1.1","bridge":"AdvertBridge","partnerAccount":"main","generation":1795482405,"sequence":1,"listedAt":"2026-11-24T01:06:45.855Z","observedAt":"2026-11-24T01:06:46.049Z","cause":"feed","correlationId":"4cd2702dfe1946cd9ed4f94c6ccdac66"},"data":{"advertId":"1006","status":"new","previousStatus":null}}}',NULL);
INSERT INTO "events" VALUES(3,1795482406157,'{"source":"advert-bridge","detail-type":"AdvertStatusChanged","time":"2026-11-24T01:06:46Z","resources":["advert-bridge/main/advert/1007"],"detail":{"metadata":{"eventId":"main/1795482405/1007/1","schemaVersion":"1.1","bridge":"AdvertBridge","partnerAccount":"main","generation":1795482405,"sequence":1,"listedAt":"2026-11-24T01:06:45.855Z","observedAt":"2026-11-24T01:06:46.157Z","cause":"feed","correlationId":"4cd2702dfe1946cd9ed4f94c6ccdac66"},"data":{"advertId":"1007","status":"new","previousStatus":null}}}',NULL);
INSERT INTO "events" VALUES(4,1795482406260,'{"source":"advert-bridge","detail-type":"AdvertStatusChanged","time":"2026-11-24T01:06:46Z","resources":["advert-bridge/main/advert/1008"],"detail":{"metadata":{"eventId":"main/1795482405/1008/1","schemaVersion":"1.1","bridge":"AdvertBridge","partnerAccount":"main","generation":1795482405,"sequence":1,"listedAt":"2026-11-24T01:06:45.855Z","observedAt":"2026-11-24T01:06:46.260Z","cause":"feed","correlationId":"4cd2702dfe1946cd9ed4f94c6ccdac66"},"data":{"advertId":"1008","status":"new","previousStatus":null}}}',NULL);
INSERT INTO "events" VALUES(5,1795482419274,'{"source":"advert-bridge","detail-type":"AdvertStatusChanged","time":"2026-11-24T01:06:59Z","resources":["advert-bridge/main/advert/1005"],"detail":{"metadata":{"eventId":"main/1795482405/1005/2","schemaVersion":"1.1","bridge":"AdvertBridge","partnerAccount":"main","generation":1795482405,"sequence":2,"listedAt":"2026-11-24T01:06:59.182Z","observedAt":"2026-11-24T01:06:59.273Z","cause":"feed","correlationId":"f48164d55e324e1994df1aefaf54c918"},"data":{"advertId":"1005","status":"active","previousStatus":"new"}}}',NULL);
INSERT INTO "events" VALUES(6,1795482449418,'{"source":"advert-bridge","detail-type":"AdvertUnavailable","time":"2026-11-24T01:07:29Z","resources":["advert-bridge/main/advert/1006"],"detail":{"metadata":{"eventId":"main/1795482405/1006/2","schemaVersion":"1.1","bridge":"AdvertBridge","partnerAccount":"main","generation":1795482405,"sequence":2,"listedAt":"2026-11-24T01:06:59.182Z","observedAt":"2026-11-24T01:07:29.417Z","cause":"feed","correlationId":"f48164d55e324e1994df1aefaf54c918"},"data":{"advertId":"1006","status":null,"previousStatus":"new"}}}',NULL);
CREATE TABLE messages (
  sequence_number INTEGER PRIMARY KEY AUTOINCREMENT,
  partner_account TEXT NOT NULL,
  generation INTEGER NOT NULL,
  body TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  receives INTEGER NOT NULL,
  visible_at INTEGER
) STRICT;
INSERT INTO "messages" VALUES(9,'main',1795482405,'{"key":"6b45889e-e2b4-46d4-85ed-13de2ea89472:1008","partnerAccount":"main","generation":1795482405,"feed":"adverts","advertId":"1008","listedAt":"2026-11-24T01:07:54.441Z","cause":"feed","correlationId":"6b45889e-e2b4-46d4-85ed-13de2ea89472"}',1795482479884,0,NULL);
INSERT INTO "messages" VALUES(10,'main',1795482405,'{"partnerAccount":"main","feed":"adverts","correlationId":"9258c53e-beb2-477a-a42b-7f9a1c3ab4d4","key":"9258c53e-beb2-477a-a42b-7f9a1c3ab4d4:1005","generation":1795482405,"advertId":"1005","listedAt":"2026-11-24T01:07:59.898Z","cause":"feed"}',1795482479900,0,NULL);
CREATE TABLE rows (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  etag TEXT NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (kind, name)
) STRICT;
INSERT INTO "rows" VALUES(1,'document','application','ermAbU1H0zth','"{\"clientId\":\"sandbox-client\",\"clientSecret\":\"sandbox-client-secret\"}"');
INSERT INTO "rows" VALUES(2,'document','setting/base-url','wVWVrxXPLBvd','"http://127.0.0.1:4488"');
INSERT INTO "rows" VALUES(3,'bridge','budget','hQDvamsITKfO','{"nextSlotMs":1795482479992,"clockMs":1795482479887,"connected":1}');
INSERT INTO "rows" VALUES(4,'account','main','dikK7B9bV3JZ','{"name":"main","generation":1795482405,"connectedAt":"2026-11-24T01:06:45.535Z","token":{"version":"Rm6XcMoqFntM","expiresAt":1795568805517,"usedAt":1795482405533}}');
INSERT INTO "rows" VALUES(5,'tokens','main','WSRWyFxRXBJX','[{"version":"Rm6XcMoqFntM","pair":"{\"accessToken\":\"iU4FycPBeOw9wS06LifuxRkyNxsLj3MN6DzPVz7h\",\"refreshToken\":\"sandbox-refresh-token-main\",\"scope\":\"v2 read write\",\"expiresAt\":\"2026-11-25T01:06:45.517Z\",\"obtainedAt\":\"2026-11-24T01:06:45.533Z\",\"generation\":1795482405}"}]');
INSERT INTO "rows" VALUES(6,'feed','main/adverts','aWc1F0UAtP9v','{"partnerAccount":"main","feed":"adverts","generation":1795482405,"since":"2026-11-24T01:01:45.000Z","cursor":"I1MDPeWhx01XPcR-Vw3jA1XkgBohZX-zRwvqsje5KRE","lastSuccess":1795482479000,"lastPolled":1795482479879,"resets":0,"resetsInARow":0,"counts":{"listed":10,"malformed":0,"repeated":1}}');
INSERT INTO "rows" VALUES(8,'document','setting/published-events','ZWZ1mrp6yHLp','"{\"requiredScope\":\"v2 read write\",\"overlapSeconds\":300,\"maxRequestsPerSecond\":10,\"circuitSeconds\":1800,\"maxPauseSeconds\":3600}"');
INSERT INTO "rows" VALUES(10,'books','main/1795482405','AYC948cWemKM','{"listed":9,"events":5,"deadLettered":1,"unavailable":1}');
INSERT INTO "rows" VALUES(11,'history','main/1795482405/1005','w00q7SbcgAAr','{"sequence":2,"status":"active","envelope":"{\"source\":\"advert-bridge\",\"detail-type\":\"AdvertStatusChanged\",\"time\":\"2026-11-24T01:06:59Z\",\"resources\":[\"advert-bridge/main/advert/1005\"],\"detail\":{\"metadata\":{\"eventId\":\"main/1795482405/1005/2\",\"schemaVersion\":\"1.1\",\"bridge\":\"AdvertBridge\",\"partnerAccount\":\"main\",\"generation\":1795482405,\"sequence\":2,\"listedAt\":\"2026-11-24T01:06:59.182Z\",\"observedAt\":\"2026-11-24T01:06:59.273Z\",\"cause\":\"feed\",\"correlationId\":\"f48164d55e324e1994df1aefaf54c918\"},\"data\":{\"advertId\":\"1005\",\"status\":\"active\",\"previousStatus\":\"new\"}}}","by":"f48164d55e324e1994df1aefaf54c918:1005"}');
INSERT INTO "rows" VALUES(12,'history','main/1795482405/1006','tHTN8VRdSRtY','{"sequence":2,"status":null,"envelope":"{\"source\":\"advert-bridge\",\"detail-type\":\"AdvertUnavailable\",\"time\":\"2026-11-24T01:07:29Z\",\"resources\":[\"advert-bridge/main/advert/1006\"],\"detail\":{\"metadata\":{\"eventId\":\"main/1795482405/1006/2\",\"schemaVersion\":\"1.1\",\"bridge\":\"AdvertBridge\",\"partnerAccount\":\"main\",\"generation\":1795482405,\"sequence\":2,\"listedAt\":\"2026-11-24T01:06:59.182Z\",\"observedAt\":\"2026-11-24T01:07:29.417Z\",\"cause\":\"feed\",\"correlationId\":\"f48164d55e324e1994df1aefaf54c918\"},\"data\":{\"advertId\":\"1006\",\"status\":null,\"previousStatus\":\"new\"}}}","by":"f48164d55e324e1994df1aefaf54c918:1006"}');
INSERT INTO "rows" VALUES(13,'history','main/1795482405/1007','zC1k0Qip/iTV','{"sequence":1,"status":"new","envelope":"{\"source\":\"advert-bridge\",\"detail-type\":\"AdvertStatusChanged\",\"time\":\"2026-11-24T01:06:46Z\",\"resources\":[\"advert-bridge/main/advert/1007\"],\"detail\":{\"metadata\":{\"eventId\":\"main/1795482405/1007/1\",\"schemaVersion\":\"1.1\",\"bridge\":\"AdvertBridge\",\"partnerAccount\":\"main\",\"generation\":1795482405,\"sequence\":1,\"listedAt\":\"2026-11-24T01:06:45.855Z\",\"observedAt\":\"2026-11-24T01:06:46.157Z\",\"cause\":\"feed\",\"correlationId\":\"4cd2702dfe1946cd9ed4f94c6ccdac66\"},\"data\":{\"advertId\":\"1007\",\"status\":\"new\",\"previousStatus\":null}}}","by":"4cd2702dfe1946cd9ed4f94c6ccdac66:1007","tries":1}');
INSERT INTO "rows" VALUES(14,'history','main/1795482405/1008','4UQYdnEsWzXX','{"sequence":1,"status":"new","envelope":"{\"source\":\"advert-bridge\",\"detail-type\":\"AdvertStatusChanged\",\"time\":\"2026-11-24T01:06:46Z\",\"resources\":[\"advert-bridge/main/advert/1008\"],\"detail\":{\"metadata\":{\"eventId\":\"main/1795482405/1008/1\",\"schemaVersion\":\"1.1\",\"bridge\":\"AdvertBridge\",\"partnerAccount\":\"main\",\"generation\":1795482405,\"sequence\":1,\"listedAt\":\"2026-11-24T01:06:45.855Z\",\"observedAt\":\"2026-11-24T01:06:46.260Z\",\"cause\":\"feed\",\"correlationId\":\"4cd2702dfe1946cd9ed4f94c6ccdac66\"},\"data\":{\"advertId\":\"1008\",\"status\":\"new\",\"previousStatus\":null}}}","by":"4cd2702dfe1946cd9ed4f94c6ccdac66:1008"}');
INSERT INTO "rows" VALUES(15,'bridge','activity','mW48xVVOA49N','{"maxRequestsPerSecond":10,"minutes":{"29924706":{"ok":7,"ms":73,"not-found":1,"invalid-request":1},"29924707":{"not-found":1,"ms":26,"ok":1}}}');
INSERT INTO "rows" VALUES(16,'reader','http://127.0.0.1:4999/adverts','WmnjNDF+I9RC','{"position":6,"secrets":["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}');
INSERT INTO "rows" VALUES(18,'dead','main/b8c2b141fdf201b8','FpXW0xUy8upf','{"partnerAccount":"main","advertId":"1007","fault":"invalid-request","reason":"GET /api/partner/adverts/1007 answered 422","at":"2026-11-24T01:06:59.486Z","receives":1,"message":{"key":"f48164d55e324e1994df1aefaf54c918:1007","partnerAccount":"main","generation":1795482405,"feed":"adverts","advertId":"1007","listedAt":"2026-11-24T01:06:59.182Z","cause":"feed","correlationId":"f48164d55e324e1994df1aefaf54c918"}}');
INSERT INTO "rows" VALUES(20,'document','run','','pid 26599 since 2026-11-24T01:07:54.706Z (npx advert-bridge run --local st)');
CREATE TABLE unsent (
  webhook TEXT NOT NULL,
  number INTEGER NOT NULL,
  subject TEXT NOT NULL,
  envelope TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (webhook, number)
) STRICT;
CREATE INDEX unsent_of_subject ON unsent (webhook, subject, number);
CREATE INDEX unsent_due ON unsent (webhook, due_at, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',10);
COMMIT;
