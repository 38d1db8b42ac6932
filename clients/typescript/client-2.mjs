// `@modelcontextprotocol/client`, the SDK of both eras.
//
//     node client-2.mjs legacy|modern stdio|http PROGRAM|URL STORY [OPTION…]

import { Client, ResourceNotFoundError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { tell, withToken } from './story.mjs';

/** A schema for results that the SDK does not know. It accepts any value. */
const ANYTHING = { '~standard': { version: 1, vendor: 'candor-interop', validate: value => ({ value }) } };

await tell(({ era, transport, place, options, extensions, host, ear }) => {
  // `auto` must detect the modern era. The revision proves that it did.
  const client = new Client(
    { name: 'candor-interop', version: '1.0.0' },
    {
      capabilities: { elicitation: {}, sampling: {}, roots: {}, extensions },
      versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' },
    },
  );
  client.setRequestHandler('elicitation/create', host.person);
  client.setRequestHandler('sampling/createMessage', host.model);
  client.setRequestHandler('roots/list', host.folders);
  client.setNotificationHandler('notifications/tools/list_changed', ear.hear);
  client.setNotificationHandler('notifications/resources/updated', ear.hear);
  const faults = [];
  client.onerror = error => faults.push(error.message);

  return {
    client,
    faults,
    connect: () =>
      client.connect(
        transport === 'stdio'
          ? new StdioClientTransport({ command: place, args: [...options, '--stdio'] })
          : new StreamableHTTPClientTransport(new URL(place), withToken()),
      ),
    revision: () => client.getNegotiatedProtocolVersion(),
    call: (name, args, { meta, ...options } = {}) => client.callTool({ name, arguments: args, _meta: meta }, options),
    request: (method, params) => client.request({ method, params }, ANYTHING),
    listen: async uri => {
      if (era === 'modern') {
        const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    // In both eras, the SDK reports a missing resource with the modern code.
    codeOf: error => (era === 'legacy' && error instanceof ResourceNotFoundError ? -32002 : error.code),
  };
});
