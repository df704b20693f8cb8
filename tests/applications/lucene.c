/* The ten best of 1,000 documents by Lucene, in a peer of this program's own. usage: lucene JPEER CLASS_PATH */
#include <jpeer/client.h>
#include <stdio.h>
#include <stdlib.h>

#define INDEX    "org.apache.lucene.index."
#define SEARCH   "org.apache.lucene.search."
#define DOCUMENT "org.apache.lucene.document."
#define PARSER   "org.apache.lucene.queryparser.classic.QueryParser"
#define ANALYZER "org.apache.lucene.analysis.standard.StandardAnalyzer"

enum { DOCUMENTS = 1000, DOCUMENTS_A_CHAIN = 200, BEST = 10, TIMEOUT_MS = 60000 };

static void send_chain(struct jp_chain *chain)
{
  struct jp_client_error error;
  if (jp_chain_send(chain, TIMEOUT_MS, &error) == JP_CLIENT_OK)
    return;
  fprintf(stderr, "%s\n", error.text);
  exit(1);
}

static struct jp_ref *keep(struct jp_chain *chain, const char *name)
{
  return jp_ref_keep(jp_answer_ref(jp_chain_answer(chain, name)));
}

/* "document 7 about lucene lucene ... and java ..." */
static void write_words(int number, char *words, size_t size)
{
  int length = snprintf(words, size, "document %d about ", number);
  for (int i = 0; i < number % 13; i++)
    length += snprintf(words + length, size - (size_t)length, "lucene ");
  length += snprintf(words + length, size - (size_t)length, "and ");
  for (int i = 0; i < number % 7; i++)
    length += snprintf(words + length, size - (size_t)length, "java ");
}

static void add_document(struct jp_chain *chain, const struct jp_ref *writer, int number)
{
  char body[20], document[20], words[400];
  snprintf(body, sizeof body, "body%d", number);
  snprintf(document, sizeof document, "document%d", number);
  write_words(number, words, sizeof words);
  jp_chain_create_object(
      chain, body, DOCUMENT "TextField",
      JP_ARGUMENTS(jp_string("body"), jp_string(words), jp_text_of_type(DOCUMENT "Field$Store", "YES")));
  jp_chain_create_object(chain, document, DOCUMENT "Document", JP_NO_ARGUMENTS);
  jp_chain_call(chain, NULL, "add", JP_ARGUMENTS(jp_named(body)));
  jp_chain_with_object(chain, writer, INDEX "IndexWriter");
  jp_chain_call(chain, NULL, "addDocument", JP_ARGUMENTS(jp_named(document)));
}

static void search(struct jp_chain *chain, const struct jp_ref *writer, const struct jp_ref *analyzer)
{
  static const char *const names[BEST] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  jp_chain_call_static(chain, "reader", INDEX "DirectoryReader", "open", JP_ARGUMENTS(jp_object(writer)));
  jp_chain_create_object(chain, NULL, PARSER, JP_ARGUMENTS(jp_string("body"), jp_object(analyzer)));
  jp_chain_call(chain, "query", "parse", JP_ARGUMENTS(jp_string("lucene AND java")));
  jp_chain_create_object(chain, NULL, SEARCH "IndexSearcher", JP_ARGUMENTS(jp_named("reader")));
  jp_chain_call(chain, "found", "search", JP_ARGUMENTS(jp_named("query"), jp_int(BEST)));
  jp_chain_call(chain, "stored", "storedFields", JP_NO_ARGUMENTS);
  jp_chain_with(chain, "found", SEARCH "TopDocs");
  jp_chain_get(chain, "hits", "scoreDocs");
  for (int i = 0; i < BEST; i++) {
    char hit[20], number[20], document[20];
    snprintf(hit, sizeof hit, "hit%d", i);
    snprintf(number, sizeof number, "number%d", i);
    snprintf(document, sizeof document, "document%d", i);
    jp_chain_call_static(chain, hit, "java.lang.reflect.Array", "get",
                         JP_ARGUMENTS(jp_named("hits"), jp_int(i)));
    jp_chain_with(chain, hit, SEARCH "ScoreDoc");
    jp_chain_get(chain, number, "doc");
    jp_chain_with(chain, "stored", INDEX "StoredFields");
    jp_chain_call(chain, document, "document", JP_ARGUMENTS(jp_named(number)));
    jp_chain_with(chain, document, DOCUMENT "Document");
    jp_chain_call(chain, names[i], "get", JP_ARGUMENTS(jp_string("body")));
  }
  send_chain(chain);
  for (int i = 0; i < BEST; i++)
    printf("%s\n", jp_answer_text(jp_chain_answer(chain, names[i])).data);
}

/* Objects that the session holds, as the peer tells. */
static void print_objects(struct jp_client *client)
{
  struct jp_request stats = jp_build_stats();
  struct jp_answer *answer;
  struct jp_json told;
  int64_t objects = -1;
  if (jp_client_call(client, &stats, TIMEOUT_MS, &answer, NULL) == JP_CLIENT_OK &&
      jp_json_parse(jp_answer_text(answer), 10, &told, NULL) == JP_JSONRPC_OK)
    jp_json_integer(jp_json_member(told, "objects"), &objects);
  jp_answer_free(answer);
  printf("%lld objects are left\n", (long long)objects);
}

int main(int count, char **words)
{
  const struct jp_launch_config config = {.size = sizeof config,
                                          .program = count > 1 ? words[1] : NULL,
                                          .class_path = count > 2 ? words[2] : NULL};
  struct jp_peer *peer;
  struct jp_client_error error;
  if (jp_launch(&config, &peer, &error) != JP_CLIENT_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  struct jp_chain *chain = jp_chain_create(jp_peer_client(peer));
  jp_chain_create_object(chain, "directory", "org.apache.lucene.store.ByteBuffersDirectory", JP_NO_ARGUMENTS);
  jp_chain_create_object(chain, "analyzer", ANALYZER, JP_NO_ARGUMENTS);
  jp_chain_create_object(chain, "config", INDEX "IndexWriterConfig", JP_ARGUMENTS(jp_named("analyzer")));
  jp_chain_create_object(chain, "writer", INDEX "IndexWriter",
                         JP_ARGUMENTS(jp_named("directory"), jp_named("config")));
  send_chain(chain);
  struct jp_ref *writer = keep(chain, "writer"), *analyzer = keep(chain, "analyzer");
  for (int i = 0; i < DOCUMENTS; i++) {
    add_document(chain, writer, i);
    if (i % DOCUMENTS_A_CHAIN == DOCUMENTS_A_CHAIN - 1)
      send_chain(chain);
  }
  search(chain, writer, analyzer);
  jp_chain_destroy(chain);
  jp_ref_release(analyzer);
  jp_ref_release(writer);
  print_objects(jp_peer_client(peer));
  return jp_peer_stop(peer, TIMEOUT_MS);
}
