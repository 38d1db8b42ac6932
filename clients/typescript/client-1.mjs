// `@modelcontextprotocol/sdk`, the SDK of the legacy era.
//
//     node client-1.mjs legacy stdio|http PROGRAM|URL STORY [OPTION…]

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { tell, withToken } from './story.mjs';

await tell(({ transport, place, options, extensions, host, ear }) => {
  const client = new Client(
    { name: 'candor-interop', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {}, roots: {}, extensions } },
  );
  client.setRequestHandler(ElicitRequestSchema, host.person);
  client.setRequestHandler(CreateMessageRequestSchema, host.model);
  client.setRequestHandler(ListRootsRequestSchema, host.folders);
  client.setNotificationHandler(ToolListChangedNotificationSchema, ear.hear);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ear.hear);
  const faults = [];
  client.onerror = error => faults.push(error.message);

  // The client does not expose the negotiated revision, but passes it to its transport.
  let revision;
  const tapped = original => {
    const setProtocolVersion = original.setProtocolVersion?.bind(original);
    original.setProtocolVersion = version => {
      revision = version;
      setProtocolVersion?.(version);
    };
    return original;
  };

  return {
    client,
    faults,
    connect: () =>
      client.connect(
        tapped(
          transport === 'stdio'
            ? new StdioClientTransport({ command: place, args: [...options, '--stdio'] })
            : new StreamableHTTPClientTransport(new URL(place), withToken()),
        ),
      ),
    revision: () => revision,
    call: (name, args, { meta, ...options } = {}) =>
      client.callTool({ name, arguments: args, _meta: meta }, undefined, options),
    request: (method, params) => client.request({ method, params }, ResultSchema),
    listen: async uri => {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    codeOf: error => error.code,
  };
});
