/*
 * peers.cpp: times the peers that are C++: the standard library's selections, and with -DPEERS_BOOST the sort and the
 * nth_element of Boost.Compute on an OpenCL device.
 *
 *   peers PEER FILE N K ROWS CALLS [DEVICE]
 *
 * Takes the first ROWS * N floats of FILE and prints {"ms": [...], "kth": least value of the first row's answer}.  All
 * of them give values, no indices.  Those that change their input work on a copy, and the copy is part of the time.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#ifdef PEERS_BOOST
#define BOOST_BIND_GLOBAL_PLACEHOLDERS
#define CL_TARGET_OPENCL_VERSION 120
#include <boost/compute/algorithm/copy.hpp>
#include <boost/compute/algorithm/nth_element.hpp>
#include <boost/compute/algorithm/sort.hpp>
#include <boost/compute/container/vector.hpp>
#include <boost/compute/functional/operator.hpp>
#include <boost/compute/system.hpp>
#endif

namespace {

using Floats = std::vector<float>;

struct Shape {
    std::size_t n, k, rows;
};

[[noreturn]] void die(const std::string &what)
{
    std::fprintf(stderr, "peers: %s\n", what.c_str());
    std::exit(1);
}

Floats load(const char *path, std::size_t count)
{
    Floats data(count);
    std::FILE *file = std::fopen(path, "rb");

    if (!file || std::fread(data.data(), sizeof(float), count, file) != count)
        die(std::string("cannot read enough of ") + path);
    std::fclose(file);
    return data;
}

/* Each fills `answer` with the k largest of every row, in any order. */
void partial_sort_copy(const Floats &data, const Shape &shape, Floats &answer)
{
    for (std::size_t row = 0; row < shape.rows; row++)
        std::partial_sort_copy(data.begin() + row * shape.n, data.begin() + (row + 1) * shape.n,
                               answer.begin() + row * shape.k, answer.begin() + (row + 1) * shape.k,
                               std::greater<float>());
}

void nth_element(const Floats &data, const Shape &shape, Floats &answer)
{
    static Floats copy;

    for (std::size_t row = 0; row < shape.rows; row++) {
        copy.assign(data.begin() + row * shape.n, data.begin() + (row + 1) * shape.n);
        std::nth_element(copy.begin(), copy.begin() + (shape.k - 1), copy.end(), std::greater<float>());
        std::copy(copy.begin(), copy.begin() + shape.k, answer.begin() + row * shape.k);
    }
}

std::vector<double> time_calls(int calls, const std::function<void()> &call)
{
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    std::vector<double> times;

    for (int i = 0; i < calls && (i == 0 || Clock::now() - begin < std::chrono::seconds(1)); i++) {
        const auto start = Clock::now();

        call();
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return times;
}

#ifdef PEERS_BOOST
namespace compute = boost::compute;

compute::device find_device(const std::string &name)
{
    for (const compute::device &device : compute::system::devices())
        if (name.empty() || device.name() == name)
            return device;
    die("no device " + name);
}

std::vector<double> boost_calls(const std::string &peer, const Floats &data, const Shape &shape, int calls,
                                const std::string &device_name, Floats &answer)
{
    const compute::device device = find_device(device_name);
    const compute::context context(device);
    compute::command_queue queue(context, device);
    compute::vector<float> input(data.begin(), data.end(), queue), work(data.size(), context);
    const auto call = [&] {
        compute::copy(input.begin(), input.end(), work.begin(), queue);
        if (peer == "boost.compute sort")
            compute::sort(work.begin(), work.end(), compute::greater<float>(), queue);
        else
            compute::nth_element(work.begin(), work.begin() + (shape.n - shape.k), work.end(), queue);
        queue.finish();
    };

    call(); /* compiles */
    const std::vector<double> times = time_calls(calls, call);
    const std::size_t first = peer == "boost.compute sort" ? 0 : shape.n - shape.k;
    compute::copy(work.begin() + first, work.begin() + (first + shape.k), answer.begin(), queue);
    return times;
}
#endif

std::vector<double> run(const std::string &peer, const Floats &data, const Shape &shape, int calls,
                        const std::string &device, Floats &answer)
{
    if (peer == "std::partial_sort_copy")
        return time_calls(calls, [&] { partial_sort_copy(data, shape, answer); });
    if (peer == "std::nth_element")
        return time_calls(calls, [&] { nth_element(data, shape, answer); });
#ifdef PEERS_BOOST
    if (shape.rows == 1)
        return boost_calls(peer, data, shape, calls, device, answer);
#endif
    (void)device;
    die("no peer " + peer + " for this shape");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 7)
        die("usage: peers PEER FILE N K ROWS CALLS [DEVICE]");
    const Shape shape = {std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10),
                         std::strtoull(argv[5], nullptr, 10)};
    const Floats data = load(argv[2], shape.n * shape.rows);
    Floats answer(shape.k * shape.rows);
    std::vector<double> times;

    try {
        times = run(argv[1], data, shape, std::atoi(argv[6]), argc > 7 ? argv[7] : "", answer);
    } catch (const std::exception &error) {
        die(error.what());
    }
    std::printf("{\"ms\": [");
    for (std::size_t i = 0; i < times.size(); i++)
        std::printf("%s%.6f", i ? ", " : "", times[i]);
    std::printf("], \"kth\": %.17g}\n",
                static_cast<double>(*std::min_element(answer.begin(), answer.begin() + shape.k)));
    return 0;
}
