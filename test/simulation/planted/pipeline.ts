/** Planted faults in drain, fan-out and the commands about them. */

/**
 * By the source that is changed: name, the rule that the fault leaves out, a text that occurs once in the source, and what
 * takes its place. A fault that changes more than one place has several rows.
 */
export type Planted = Readonly<
  Record<string, readonly (readonly [name: string, rule: string, from: string, to: string])[]>
>;

const enqueue = '  await enqueuePage(deps, listing, found, { receivedAt, cause });\n';
const afterAdvance = '  observer.count(metrics.listed, page.data.length);\n';

export const plantedInPipeline: Planted = {
  'operators/operations/audit.ts': [
    [
      'audit-before-settled',
      'an audit counts an advert only when its message is settled',
      'row.by === message || (isEmpty && row.by !== by)',
      'true',
    ],
  ],
  'functions/fan-out/witness.ts': [
    [
      'gone-needs-a-witness',
      'an advert is gone only when another one of its account is answered well',
      'if (clock.now() - since < aloneMs) return false;',
      'return true;',
    ],
  ],
  'functions/drain/accept-page.ts': [
    ['cursor-before-sends', "the page's IDs are sent to the queue before its cursor is stored", enqueue, ''],
    [
      'cursor-before-sends',
      '… and',
      afterAdvance,
      '  await enqueuePage(deps, listing, found, { receivedAt, cause });\n  observer.count(metrics.listed, page.data.length);\n',
    ],
    [
      'refused-sends-ignored',
      'if the queue does not accept all messages, nothing is stored and the page is read again',
      'if (refused.size > 0)',
      'if (refused.size < 0)',
    ],
    [
      'key-from-cursor',
      "the messages' key is new for every page read, and not made of cursor and advert",
      'const readId = newId();',
      "const readId = state.cursor ?? 'first';",
    ],
    [
      'reset-before-sends',
      'when the drain starts over, the IDs are sent first; then one write stores `since`, the cursor and the last success',
      enqueue,
      '  if (!startedOver)  await enqueuePage(deps, listing, found, { receivedAt, cause });\n',
    ],
    [
      'reset-before-sends',
      '… and',
      afterAdvance,
      '  if (startedOver)  await enqueuePage(deps, listing, found, { receivedAt, cause });\n  observer.count(metrics.listed, page.data.length);\n',
    ],
    [
      'last-success-of-any-page',
      'the last success is the time of a page with `hasMore: false`',
      '...(page.hasMore ? resyncing && { resyncing } : { lastSuccess: serviceTime })',
      '...(page.hasMore && resyncing && { resyncing }), lastSuccess: serviceTime',
    ],
  ],
  'functions/drain/read-page.ts': [
    [
      'resync-starts-over-from-last-success',
      'if a resync must start over, it starts at its own beginning',
      'resyncing ? undefined : knownSuccess(lastSuccess, nowMs)',
      'knownSuccess(lastSuccess, nowMs)',
    ],
    [
      'old-since-after-reset',
      'requests with the new cursor send the new `since`',
      'since: restart, startedOver',
      'since, startedOver',
    ],
  ],
  'shared/state/feed-states.ts': [
    [
      'lost-lease-writes',
      'a drain stores nothing without the lease and its fencing token',
      'if (!isLeased(state, nowMs)) return undefined;\n',
      '',
    ],
    [
      'lost-lease-writes',
      '… and',
      'put(feedRowKey(state), next, etag)',
      "put(feedRowKey(state), next, (await store.get(feedRowKey(state)))?.etag ?? 'absent')",
    ],
  ],
  'functions/drain/poll-fault.ts': [
    [
      'failing-feed-waits',
      'a feed whose polls fail is polled less and less often',
      'const growingMs = failsAgain ? 2 * (lastMs ?? 0) : 0;',
      'const growingMs = failsAgain ? 0 * (lastMs ?? 0) : 0;',
    ],
    [
      'feed-keeps-retry-after',
      'a feed that a 503 asks to wait is not polled before',
      'const forMs = Math.max(askedMs, ownMs);',
      'const forMs = ownMs;',
    ],
  ],
  'functions/drain/poll-feed.ts': [
    [
      'read-ahead-by-30-s',
      'a feed is read ahead by 30 seconds of the rate, and its other changes wait in it',
      'const readAheadSeconds = 30;',
      'const readAheadSeconds = 3_000;',
    ],
  ],
  'test/simulation/world/stages.ts': [
    [
      'no-overlap',
      'the drain starts over further back than a change takes to become visible in the feed',
      'overlapSeconds: plan.overlapSeconds,\n    leaseMs',
      'overlapSeconds: 0,\n    leaseMs',
    ],
  ],
  'functions/fan-out/settle-advert.ts': [
    [
      'unchanged-is-confirmed',
      'a change that the feed has just listed is not believed to be none',
      'if (waitMs > 0) return askAgain(deps, group, waitMs);',
      '',
    ],
    [
      'row-read-after-fetch',
      'the row is read before the fetch',
      'const stored = (await histories.read(message)) ?? firstRow;',
      'const early = await observe(deps, group[0], false, fetchDeadlineMs);\n  const stored = (await histories.read(message)) ?? firstRow;',
    ],
    [
      'row-read-after-fetch',
      '… and',
      'const observed = await observe(deps, group[0], isIll(row, group), fetchDeadlineMs)',
      'const observed = early',
    ],
    [
      'status-kept-over-conflict',
      'after a conflict the advert is fetched again',
      'await observe(deps, group[0], isIll(row, group), fetchDeadlineMs)',
      '((group as { kept?: Awaited<ReturnType<typeof observe>> }).kept ??= await observe(deps, group[0], isIll(row, group), fetchDeadlineMs))',
    ],
    [
      'pending-left-out',
      'a pending event is published before anything else',
      'stored.pending ? await publishPending(deps, message, stored) : stored',
      'stored',
    ],
    [
      'pending-unrecorded',
      'an event is pending from the write of its row until the bus has accepted it',
      'envelope, pending: true }',
      'envelope, pending: false }',
    ],
    [
      'no-fetch-after-pending',
      'the worker fetches the advert even after it has published a pending event',
      'if (!row) return undefined;',
      'if (!row) return undefined;\n  if (stored.pending) return allDone(group, outcomeOf(row.status));',
    ],
    [
      'repeat-made-anew',
      'an event that is published again is the same byte for byte',
      'await events.publish(row.envelope);',
      `await events.publish(row.by === message.key ? row.envelope : row.envelope.replace('Z"', '0Z"'));`,
    ],
    [
      'only-published-counted',
      'an event that is not published has a number too',
      'const sequence = row.sequence + 1;',
      'const published = settings.publishStatuses ?? [observed.status];\n  const isCounted = [observed.status, row.status].some((status) => published.includes(status as string));\n  const sequence = row.sequence + (isCounted ? 1 : 0);',
    ],
    [
      'fields-of-first-answer',
      'copied fields come from the same answer as the status',
      'copyFields(observed.advert?.(), settings.eventFields)',
      'copyFields(((group as { first?: unknown }).first ??= observed.advert?.()), settings.eventFields)',
    ],
    [
      'no-look-after-an-hour',
      'what was published as gone without a witness is looked at once more after an hour',
      'isAlone ? [...askAgain(deps, [group[0]], lastLookMs), ...done.slice(1)] : done',
      'done',
    ],
    [
      'no-trace-of-unchanged',
      'a message that finds its advert unchanged writes the row, too',
      'if (!(await write({}))) return undefined;',
      '',
    ],
  ],
  'functions/fan-out/redelivery.ts': [
    [
      'try-needs-a-witness',
      'a failure counts only if another advert of the account was answered well since the one before',
      '!(await hasWitness(deps, head, failedAt))',
      'false',
    ],
    [
      'each-kind-counts-anew',
      'failures of one kind count together, and only those',
      'row.fault === fault.code ? known + 1 : 1',
      'known + 1',
    ],
    [
      'own-fault-is-believed-in-the-end',
      'an advert that is refused for a day is given up, also without a witness',
      'Math.min(clock.now() - failedAt, times * longestOwnMs) >= settings.maxAgeMs',
      'false',
    ],
    [
      'age-needs-a-witness',
      'what may pass is given up by its age only if another advert was answered well',
      'isOld && (!isOfService(fault) || hasWitness(deps, group[0], deps.clock.now() - longestOwnMs))',
      'isOld',
    ],
    [
      'failed-leaves-the-queue',
      'what fails a second time waits outside the queue',
      '(isOfService(fault) && (failed ||',
      '(isOfService(fault) && head.receives > 1e9 && (failed ||',
    ],
    [
      'waits-for-a-good-answer',
      'what failed like all adverts of its account comes back with the first good answer',
      'const ownMs = isAlike ? 0 : backoffMs(',
      'const ownMs = backoffMs(',
    ],
    [
      'others-done-with-dead-letter',
      "when one message is dead-lettered, the advert's other messages go back to the queue",
      '({ delivery, verdict: atOnce })',
      "({ delivery, verdict: { kind: 'done', outcome: 'coalesced' } as const })",
    ],
    [
      'aged-while-paused',
      '… and',
      "case 'never':\n      return false;",
      "case 'never':\n      return isOld;",
    ],
    [
      'delay-does-not-grow',
      'the delay of a message grows with each receive, even if the service asks for a shorter one',
      'const delayMs = Math.max(\n    backoffMs(',
      'const delayMs = fault.retryAfterMs ?? Math.max(\n    backoffMs(',
    ],
    ['delay-does-not-grow', '… and', 'Math.max(askedMs, minDelayMs(', 'Math.min(askedMs, 1e9 + minDelayMs('],
  ],
  'shared/ports/event-publisher.ts': [
    [
      'every-bus',
      'an event is accepted when every bus has accepted it',
      'if (refused) throw refused.reason;',
      "if (refused && results.every(({ status }) => status === 'rejected')) throw refused.reason;",
    ],
    [
      'order-of-bus',
      'an event that a bus has refused is published again before the next one of its advert',
      'const results = await Promise.allSettled(publishers.map((publisher) => publisher.publish(envelope)));',
      `const late = ((globalThis as { late?: Map<EventPublisher, string[]> }).late ??= new Map());
      const results = await Promise.allSettled(
        publishers.map(async (publisher) => {
          const before = late.get(publisher) ?? [];
          late.set(publisher, []);
          await publisher.publish(envelope).catch(() => late.get(publisher)?.push(envelope));
          for (const one of before) await publisher.publish(one).catch(() => late.get(publisher)?.push(one));
        }),
      );`,
    ],
  ],
  'test/simulation/world/bridge-ports.ts': [
    [
      'refused-events-ignored',
      'failed entries of `PutEvents` are failures',
      'events: { publish }',
      'events: { publish: (event) => publish(event).catch(() => undefined) }',
    ],
    [
      'early-end-not-noticed',
      'messages aside are put back when their pause ends early',
      'budgetStore: { read: budget.read }',
      `budgetStore: {
      async read() {
        const state = await budget.read();
        world.phase.held = state.holds ? state : (world.phase.held ?? state);
        return world.phase.held;
      },
    }`,
    ],
  ],
  'functions/fan-out/fan-out.ts': [
    [
      'stopped-wait-in-queue',
      'messages of a stopped account wait outside the queue',
      "all(group, { kind: 'hold' })",
      "all(group, { kind: 'retry', delayMs: 60_000 })",
    ],
    [
      'no-giving-up',
      'fan-out gives a message up before the queue dead-letters it',
      'if (receives > maxReceives)',
      'if (receives > 1e9)',
    ],
    [
      'refused-turns-go-aside',
      'what does not get the turn of its account again and again leaves the queue',
      'if (receives > mostRefused) return hold(group);',
      '',
    ],
    [
      'aged-while-paused',
      'the time of an operator’s pause does not count in the age of messages',
      'if (hold && holdMeanings[hold.kind].isForPerson) return',
      "if (hold?.kind === 'operator') return 0;\n    if (hold?.kind === 'authorization') return",
    ],
    ['aged-while-paused', '… and', "if (fault.code === 'operator-paused') return hold(group);", ''],
    [
      'hidden-while-paused',
      'during an operator’s pause, messages wait where `resume` can release them',
      'if (isLong(heldUntil(account))) return hold(group);',
      "const wanted = holdOf(undefined, account, clock.now());\n      if (wanted?.kind === 'operator') return sendBack(group, Math.min(300_000, (wanted.until ?? 1e15) - clock.now()), random);\n      if (isLong(heldUntil(account))) return hold(group);",
    ],
  ],
  'shared/state/aside.ts': [
    [
      'wait-has-a-length',
      'a wait ends after its length, although a clock was set back',
      'wait === undefined || !isLasting(wait.dueMs, wait.forMs, nowMs);',
      'wait === undefined || wait.dueMs <= nowMs;',
    ],
  ],
  'shared/state/dead-letters.ts': [
    [
      'aside-before-removed',
      'a dead letter is put aside before its row is removed',
      'await putRow(store, rowOf(one));',
      'await store.remove(one.key, one.etag);\n    await putRow(store, rowOf(one));',
    ],
  ],
  'functions/drain/release.ts': [
    [
      'release-waits-for-a-pause',
      'messages aside come back after a pause of the bridge, also if each run begins in one',
      'if (!hold) names = await step(names, begunMs);',
      'if (hold) return;\n        names = await step(names, begunMs);',
    ],
    [
      'half-of-the-rate',
      'what comes back from a pause leaves room for new changes',
      'Math.ceil((settings.maxRequestsPerSecond * stepMs) / 2_000)',
      '10_000',
    ],
    [
      'few-put-back',
      'where the last adverts of an account all failed, one of those aside tries again each minute',
      'most: triesOne ? 1 : limit }',
      'most: limit }',
    ],
    [
      'removed-before-sent',
      'a message aside is sent to the queue before its row is removed',
      'const refused = await queue.sendAgain(held);',
      'await aside.remove(held);\n    const refused = await queue.sendAgain(held);',
    ],
  ],
  'operators/operations/history.ts': [
    [
      'history-ignores-pending',
      '`history` does not report a pending event as published',
      'return row.pending ? null : true;',
      'return true;',
    ],
    [
      'history-without-aside',
      '`history` looks for messages aside, too',
      "if (waiting.length > 0) return 'aside';",
      "if (waiting.length > 1e9) return 'aside';",
    ],
  ],
};
