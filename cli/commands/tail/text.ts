export const more = `Each line is an event as subscribers get it: source, detail-type, time, resources, detail.

On a stack a rule and a queue of its own bring the events, on top of those of the subscribers. Both are removed at the end;
what a killed tail left behind, the next one removes. Events of one advert may come out of order, and twice, as to any
subscriber. With --local the events are those that a \`run\` beside this command publishes, and nothing is changed.

Examples:
  advert-bridge tail   (the deployed stack)
  advert-bridge tail main --local .advert-bridge | head -1`;
