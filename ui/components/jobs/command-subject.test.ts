import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandLine } from './command-subject.ts';

test('a command is quoted so that it can be pasted into a terminal', () => {
  assert.equal(commandLine(['verify', '--archive', 'my-archive']), 'verify --archive my-archive');
  assert.equal(commandLine(['delete', '--query', "title:'a b'"]), "delete --query 'title:'\\''a b'\\'''");
  assert.equal(commandLine(['crawl', 'http://a.test/?b&c', '']), "crawl 'http://a.test/?b&c' ''");
});
